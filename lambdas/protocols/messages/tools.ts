import { omitUndefined } from '../../support/omit-undefined.ts';
import { asRecord, type Json } from '../bytes/json.ts';
import type { GenerationRequest, NativeTool, Tool, ToolChoice } from '../generation.ts';
import { extrasIfAny } from '../ledger/extras.ts';
import { clientTool, originalTool } from './client-tools.ts';
import { fieldsOf } from './content.ts';
import { NAME } from './name.ts';
import { isWithinStrict } from './response-format.ts';
import type { WireTool, WireToolChoice } from './wire.ts';

export const decodeTool = (tool: WireTool): Tool | NativeTool => {
  if (tool.type === 'other') {
    return clientTool(tool.value) ?? { native: true, protocol: NAME, value: tool.value };
  }
  const { name, description, input_schema: parameters, strict, ...fields } = tool;
  return omitUndefined({ name, description, strict, parameters, ...extrasIfAny(NAME, fields) });
};

export const decodeToolChoice = (choice: WireToolChoice): ToolChoice => {
  if (choice.type === 'tool') return { type: 'tool', name: choice.name };
  return { type: choice.type === 'any' ? 'required' : choice.type };
};

/** Undefined if absent; the protocol's switch is negated. */
export const decodeParallel = (choice: WireToolChoice | undefined): boolean | undefined => {
  if (!choice || choice.type === 'none') return undefined;
  const { disable_parallel_tool_use: disabled } = choice;
  return disabled === undefined ? undefined : !disabled;
};

/** Chat callers put a tool's extra fields next to its `function` or inside it. */
const toolFields = ({ extras }: Tool): Json => {
  const inside = asRecord(extras?.fields.function);
  return {
    ...fieldsOf(extras && inside && { protocol: extras.protocol, fields: inside }),
    ...fieldsOf(extras),
  };
};

/** Strict mode accepts fewer schemas than chat's. */
const strictOf = ({ strict, parameters }: Tool, sameProtocol: boolean): boolean | undefined =>
  sameProtocol || !strict || isWithinStrict(parameters) ? strict : undefined;

const encodeTool = (tool: Tool | NativeTool, sameProtocol: boolean): Json[] => {
  if ('native' in tool) return tool.protocol === NAME ? [tool.value] : [];
  const original = originalTool(tool);
  if (original) return [original];
  const { name, description, parameters } = tool;
  const strict = strictOf(tool, sameProtocol);
  // The vendor requires an object schema; chat functions may have no parameters.
  const schema = { type: 'object', ...parameters };
  return [omitUndefined({ ...toolFields(tool), name, description, input_schema: schema, strict })];
};

/** The tools of `toolChoice.only`, if it is set: the protocol's choice cannot name several tools. */
export const encodeTools = ({ tools = [], toolChoice, extras }: GenerationRequest): Json[] => {
  const only = toolChoice && 'only' in toolChoice ? toolChoice.only : undefined;
  const offered = only
    ? tools.filter((tool) => 'native' in tool || only.includes(tool.name))
    : tools;
  return offered.flatMap((tool) => encodeTool(tool, extras.protocol === NAME));
};

const CHOICE = { auto: 'auto', required: 'any', none: 'none' } as const;

export const encodeToolChoice = ({ toolChoice, parallelToolCalls }: GenerationRequest) => {
  const parallel =
    parallelToolCalls === undefined ? {} : { disable_parallel_tool_use: !parallelToolCalls };
  if (toolChoice?.type === 'none') return { type: 'none' };
  if (toolChoice?.type === 'tool') return { type: 'tool', name: toolChoice.name, ...parallel };
  if (toolChoice) return { type: CHOICE[toolChoice.type], ...parallel };
  // The switch is a member of the choice.
  return parallelToolCalls === false ? { type: 'auto', ...parallel } : undefined;
};
