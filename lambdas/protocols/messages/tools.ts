import { clientTool } from '#late/crossing';
import { omitUndefined } from '../../support/objects.ts';
import { asRecord, type Json } from '../bytes/json.ts';
import type { Fitted } from '../fit-request.ts';
import type { GenerationRequest, NativeTool, Tool, ToolChoice } from '../generation.ts';
import { instruct } from '../instructions.ts';
import { extraFieldsFor, extrasIfAny } from '../ledger/extras.ts';
import { PATHS } from '../ledger/paths.ts';
import type { WireTool, WireToolChoice } from './wire.ts';

export const decodeTool = (tool: WireTool): Tool | NativeTool => {
  if (tool.type === 'other') {
    return clientTool(tool.value) ?? { native: true, protocol: 'messages', value: tool.value };
  }
  const { name, description, input_schema: parameters, strict, ...fields } = tool;
  return omitUndefined({
    name,
    description,
    strict,
    parameters,
    ...extrasIfAny('messages', fields),
  });
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

/**
 * Names the tools of a choice among some of them in words: the protocol's choice has none or one, and without the others in
 * `tools` nothing behind them would be read from a cache.
 */
export const fitAllowed = (request: GenerationRequest): Fitted => {
  const { toolChoice: choice, tools = [] } = request;
  const only = choice && 'only' in choice ? choice.only : undefined;
  const isOffered = (tool: Tool | NativeTool) => 'native' in tool || only?.includes(tool.name);
  if (!only || tools.every(isOffered)) return { request, dropped: [] };
  const [name = '', ...others] = only;
  if (choice?.type === 'required' && others.length === 0) {
    return { request: { ...request, toolChoice: { type: 'tool', name } }, dropped: [] };
  }
  const text = `Of the tools, call only these: ${only.join(', ')}.`;
  return { request: instruct(request, text), dropped: [PATHS[request.extras.protocol].allowed] };
};

const CHOICE = { auto: 'auto', required: 'any', none: 'none' } as const;

export const encodeToolChoice = ({ toolChoice, parallelToolCalls }: GenerationRequest) => {
  const parallel =
    parallelToolCalls === undefined ? {} : { disable_parallel_tool_use: !parallelToolCalls };
  if (toolChoice?.type === 'none') return { type: 'none' };
  if (toolChoice?.type === 'tool') return { type: 'tool', name: toolChoice.name, ...parallel };
  // The switch is a member of the choice. Without one the vendor's choice is `auto`, with the same effect on its cache.
  const type = CHOICE[toolChoice?.type ?? 'auto'];
  const isDefault = parallelToolCalls === undefined || (parallelToolCalls && !toolChoice);
  return type !== 'auto' || !isDefault ? { type, ...parallel } : undefined;
};

/** The tool that `clientTool` kept. */
export const originalTool = ({ extras }: Tool): Json | undefined =>
  asRecord(extraFieldsFor('messages', extras).clientTool);
