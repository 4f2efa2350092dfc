import { isEmpty, omitUndefined } from '../../support/omit-undefined.ts';
import { extraFieldsFor, extrasIfAny } from '../extras.ts';
import type { GenerationRequest, NativeTool, Tool, ToolChoice } from '../generation.ts';
import { asRecord, type Json } from '../json.ts';
import { fittingToolName } from '../tool-names.ts';
import { NAME } from './name.ts';
import { isStrictSchema } from './response-format.ts';
import type { WireTool, WireToolChoice } from './wire.ts';

const NO_ARGUMENTS = { type: 'object', properties: {} };

type FunctionTool = Extract<WireTool, { type: 'function' }>;

const decodeFunction = ({ type: _, function: called, ...fields }: FunctionTool): Tool => {
  const { name, description, parameters, strict, ...nested } = called;
  const rest = isEmpty(nested) ? {} : { function: nested };
  return {
    ...omitUndefined({ name, description, strict }),
    parameters: { ...(parameters ?? NO_ARGUMENTS) },
    ...extrasIfAny(NAME, { ...fields, ...rest }),
  };
};

export const decodeTool = (tool: WireTool): Tool | NativeTool => {
  switch (tool.type) {
    case 'function':
      return decodeFunction(tool);
    case 'other':
      return { native: true, protocol: NAME, value: tool.value };
    default: {
      const { type: _, name, description, input_schema: parameters, ...fields } = tool;
      return { ...omitUndefined({ name, description }), parameters, ...extrasIfAny(NAME, fields) };
    }
  }
};

export const decodeToolChoice = (choice: WireToolChoice | undefined): ToolChoice | undefined => {
  if (choice === undefined) return undefined;
  if (typeof choice === 'string') return { type: choice };
  switch (choice.type) {
    case 'function':
      return { type: 'tool', name: choice.function.name };
    case 'tool':
      return { type: 'tool', name: choice.name };
    case 'allowed_tools': {
      const { mode, tools } = choice.allowed_tools;
      return { type: mode, only: tools.map((tool) => tool.function.name) };
    }
    case 'any':
      return { type: 'required' };
    default:
      return { type: choice.type };
  }
};

/** `parallel_tool_calls`, or the negated switch of the messages protocol on the choice. */
export const decodeParallel = (
  parallel: boolean | undefined,
  choice: WireToolChoice | undefined,
): boolean | undefined =>
  parallel ?? (asRecord(choice)?.disable_parallel_tool_use === true ? false : undefined);

/** The vendor rejects an object schema without `properties`, even if it has none. */
const withProperties = (parameters: Tool['parameters']): Tool['parameters'] =>
  parameters.type === 'object' && parameters.properties === undefined
    ? { ...parameters, properties: {} }
    : parameters;

/** The messages protocol's strict mode accepts more schemas than chat's. */
const strictOf = ({ strict, parameters }: Tool, sameProtocol: boolean): boolean | undefined =>
  sameProtocol || !strict || isStrictSchema(parameters) ? strict : undefined;

const encodeFunction = (tool: Tool, sameProtocol: boolean): Json => {
  const { name, description, parameters, extras } = tool;
  const { function: nested, ...fields } = extraFieldsFor(NAME, extras);
  const canonical = {
    name: fittingToolName(name),
    description,
    parameters: withProperties(parameters),
    strict: strictOf(tool, sameProtocol),
  };
  return {
    ...fields,
    type: 'function',
    function: omitUndefined({ ...asRecord(nested), ...canonical }),
  };
};

export const encodeTools = ({ tools = [], extras }: GenerationRequest): Json[] =>
  tools.flatMap((tool) => {
    if ('native' in tool) return tool.protocol === NAME ? [tool.value] : [];
    return [encodeFunction(tool, extras.protocol === NAME)];
  });

const named = (name: string) => ({ type: 'function', function: { name: fittingToolName(name) } });

export const encodeToolChoice = (choice: ToolChoice | undefined): unknown => {
  if (choice === undefined) return undefined;
  if (choice.type === 'tool') return named(choice.name);
  if (choice.type === 'none' || choice.only === undefined) return choice.type;
  return {
    type: 'allowed_tools',
    allowed_tools: { mode: choice.type, tools: choice.only.map(named) },
  };
};
