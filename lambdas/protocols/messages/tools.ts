import { omitUndefined } from '../../support/omit-undefined.ts';
import { extrasIfAny } from '../extras.ts';
import type { GenerationRequest, NativeTool, Tool, ToolChoice } from '../generation.ts';
import { asRecord, type Json } from '../json.ts';
import { fieldsOf } from './content.ts';
import { NAME } from './name.ts';
import { isWithinStrict } from './response-format.ts';
import type { WireTool, WireToolChoice } from './wire.ts';

export const decodeTool = (tool: WireTool): Tool | NativeTool => {
  if (tool.type === 'other') return { native: true, protocol: NAME, value: tool.value };
  const { type: _, name, description, input_schema: parameters, strict, ...fields } = tool;
  const own = { ...omitUndefined({ name, description, strict }), parameters };
  return { ...own, ...extrasIfAny(NAME, fields) };
};

export const decodeToolChoice = (choice: WireToolChoice): ToolChoice => {
  if (choice.type === 'tool') return { type: 'tool', name: choice.name };
  return { type: choice.type === 'any' ? 'required' : choice.type };
};

/** Absent says nothing; the wire's switch is a negative. */
export const decodeParallel = (choice: WireToolChoice | undefined): boolean | undefined => {
  if (!choice || choice.type === 'none') return undefined;
  const { disable_parallel_tool_use: disabled } = choice;
  return disabled === undefined ? undefined : !disabled;
};

/** Callers of the other family write what belongs to a tool beside its function or inside it. */
const toolFields = ({ extras }: Tool): Json => {
  const inside = asRecord(extras?.fields.function);
  return {
    ...fieldsOf(extras && inside && { protocol: extras.protocol, fields: inside }),
    ...fieldsOf(extras),
  };
};

/** Strict mode takes fewer schemas here than with the other family. */
const strictOf = ({ strict, parameters }: Tool, isOwn: boolean): boolean | undefined =>
  isOwn || !strict || isWithinStrict(parameters) ? strict : undefined;

const encodeTool = (tool: Tool | NativeTool, isOwn: boolean): Json[] => {
  if ('native' in tool) return tool.protocol === NAME ? [tool.value] : [];
  const { name, description, parameters } = tool;
  const strict = strictOf(tool, isOwn);
  // The vendor demands an object schema; a chat function without parameters takes none.
  const schema = { type: 'object', ...parameters };
  return [omitUndefined({ ...toolFields(tool), name, description, input_schema: schema, strict })];
};

/** The tools, without those that a narrowed choice leaves out: this wire cannot narrow in the choice. */
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
  // The switch needs a choice to sit on.
  return parallelToolCalls === false ? { type: 'auto', ...parallel } : undefined;
};
