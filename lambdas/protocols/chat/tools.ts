import { invalidRequest } from '../../support/errors.ts';
import { isEmpty, omitUndefined } from '../../support/objects.ts';
import { asRecord, type Json, listOf } from '../bytes/json.ts';
import type { GenerationRequest, NativeTool, TextInput, Tool, ToolChoice } from '../generation.ts';
import { extraFieldsFor, extrasIfAny } from '../ledger/extras.ts';
import { customTool, hasCustomTool } from '../tools/custom.ts';
import { fittingToolName } from '../tools/names.ts';
import { asObjectSchema, isStrictSchema, NO_ARGUMENTS } from '../tools/schemas.ts';
import { asTool, asToolChoice, encodeFunctions, usesFunctions } from './functions.ts';
import type { ChatRequest, WireTool, WireToolChoice } from './wire.ts';

// --- wire -> canonical ---

type FunctionTool = Extract<WireTool, { type: 'function' }>;
type CustomTool = Extract<WireTool, { custom: object }>;

const isCustom = (tool: WireTool): tool is CustomTool =>
  tool.type === 'custom' && !('input_schema' in tool);

const decodeFunction = ({ type: _, function: called, ...fields }: FunctionTool): Tool => {
  const { name, description, parameters, strict, ...nested } = called;
  const rest = isEmpty(nested) ? {} : { function: nested };
  return omitUndefined({
    ...{ name, description, strict, parameters: parameters ?? NO_ARGUMENTS },
    ...extrasIfAny('chat', { ...fields, ...rest }),
  });
};

/** The members of `custom` are also kept as they are, for targets that have such tools. */
const decodeCustom = ({ type: _, custom, ...fields }: CustomTool): Tool => {
  const { name, ...nested } = custom;
  const { description, format } = nested;
  return {
    name,
    ...customTool({ description, grammar: format?.grammar }),
    ...extrasIfAny('chat', { ...fields, custom: nested }),
  };
};

const decodeTool = (tool: WireTool): Tool | NativeTool => {
  if (isCustom(tool)) return decodeCustom(tool);
  switch (tool.type) {
    case 'function':
      return decodeFunction(tool);
    case 'other':
      return { native: true, protocol: 'chat', value: tool.value };
    default: {
      const { type: _, name, description, input_schema: parameters, ...fields } = tool;
      return omitUndefined({ name, description, parameters, ...extrasIfAny('chat', fields) });
    }
  }
};

const decodeToolChoice = (choice: WireToolChoice | undefined): ToolChoice | undefined => {
  if (choice === undefined) return undefined;
  if (typeof choice === 'string') return { type: choice };
  switch (choice.type) {
    case 'function':
      return { type: 'tool', name: choice.function.name };
    case 'custom':
      return { type: 'tool', name: choice.custom.name };
    case 'tool':
      return { type: 'tool', name: choice.name };
    case 'allowed_tools': {
      const { mode, tools } = choice.allowed_tools;
      const only = tools.map((tool) => ('custom' in tool ? tool.custom.name : tool.function.name));
      return { type: mode, only };
    }
    case 'any':
      return { type: 'required' };
    default:
      return { type: choice.type };
  }
};

/** `parallel_tool_calls`, or the negated switch of the messages protocol on the choice. */
const decodeParallel = (parallel: boolean | undefined, choice: WireToolChoice | undefined) =>
  parallel ?? (asRecord(choice)?.disable_parallel_tool_use === true ? false : undefined);

/** @throws ApiError 400 for tools in both of their forms. */
export const decodeToolFields = (wire: ChatRequest) => {
  const { tools, tool_choice: choice, functions, function_call: called } = wire;
  if (functions && tools) {
    throw invalidRequest('functions: must not be sent with tools.', { param: 'functions' });
  }
  if (functions) {
    return {
      tools: listOf(functions.map((one) => decodeTool(asTool(one)))),
      toolChoice: decodeToolChoice(called && asToolChoice(called)),
      // A message has one call of this form.
      parallelToolCalls: false,
    };
  }
  return {
    tools: tools?.map(decodeTool),
    toolChoice: decodeToolChoice(choice),
    parallelToolCalls: decodeParallel(wire.parallel_tool_calls, choice),
  };
};

// --- canonical -> wire ---

/** The messages protocol's strict mode accepts more schemas than chat's. */
const strictOf = ({ strict, parameters }: Tool, sameProtocol: boolean): boolean | undefined =>
  sameProtocol || !strict || isStrictSchema(parameters) ? strict : undefined;

const encodeFunction = (tool: Tool, sameProtocol: boolean): Json => {
  const { name, description, parameters, extras } = tool;
  const { function: nested, ...fields } = extraFieldsFor('chat', extras);
  const called = omitUndefined({
    ...asRecord(nested),
    name: fittingToolName(name),
    description,
    parameters: asObjectSchema(parameters),
    strict: strictOf(tool, sameProtocol),
  });
  return { ...fields, type: 'function', function: called };
};

/** What the tool says of its text, for callers of another protocol. */
const textInput = ({ description, grammar }: TextInput): Json =>
  omitUndefined({ description, format: grammar && { type: 'grammar', grammar } });

const encodeCustom = ({ name, extras }: Tool, input: TextInput): Json => {
  const { custom: nested, ...fields } = extraFieldsFor('chat', extras);
  return {
    ...fields,
    type: 'custom',
    custom: { ...(asRecord(nested) ?? textInput(input)), name: fittingToolName(name) },
  };
};

const encodeTools = ({ tools = [], extras }: GenerationRequest): Json[] =>
  tools.flatMap((tool) => {
    if ('native' in tool) return tool.protocol === 'chat' ? [tool.value] : [];
    return tool.custom
      ? [encodeCustom(tool, tool.custom)]
      : [encodeFunction(tool, extras.protocol === 'chat')];
  });

const encodeToolChoice = (request: GenerationRequest): unknown => {
  const { toolChoice: choice } = request;
  if (choice === undefined) return undefined;
  const named = (name: string): Json => {
    const type = hasCustomTool(request, name) ? 'custom' : 'function';
    return { type, [type]: { name: fittingToolName(name) } };
  };
  if (choice.type === 'tool') return named(choice.name);
  if (choice.type === 'none' || choice.only === undefined) return choice.type;
  return {
    type: 'allowed_tools',
    allowed_tools: { mode: choice.type, tools: choice.only.map(named) },
  };
};

/** The fields about tools; the vendor rejects the others without `tools`. */
export const encodeToolFields = (request: GenerationRequest): Json => {
  const tools = encodeTools(request);
  if (tools.length === 0) return {};
  const { toolChoice, parallelToolCalls } = request;
  if (usesFunctions(request)) return encodeFunctions(tools, toolChoice);
  return { tools, tool_choice: encodeToolChoice(request), parallel_tool_calls: parallelToolCalls };
};
