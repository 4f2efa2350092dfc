import { compact } from '../../support/compact.ts';
import type {
  ForeignTool,
  GenerationRequest,
  ResponseFormat,
  Tool,
  ToolChoice,
} from '../generation.ts';
import { fieldsFor, parseWire, ride, rideIfAny } from '../parse-wire.ts';
import type { WireTarget } from '../protocol.ts';
import { wireToolName } from './tool-names.ts';
import { decodeMessage, encodeTurn } from './turns.ts';
import { ChatRequest, type WireTool } from './wire.ts';

const NAME = 'chat';
const NO_ARGUMENTS = { type: 'object', properties: {} };

// --- wire -> canonical ---

const decodeTool = (tool: WireTool): Tool | ForeignTool => {
  if ('function' in tool && tool.type === 'function') {
    const {
      function: called,
      type: _,
      ...fields
    } = tool as Extract<WireTool, { type: 'function' }> & {
      function: { name: string; description?: string; parameters?: object; strict?: boolean };
    };
    const { name, description, parameters, strict, ...nested } = called;
    const rest = Object.keys(nested).length > 0 ? { function: nested } : {};
    return {
      ...compact({ name, description, strict }),
      parameters: { ...(parameters ?? NO_ARGUMENTS) },
      ...rideIfAny(NAME, { ...fields, ...rest }),
    };
  }
  if ('input_schema' in tool && tool.type === undefined) {
    const {
      name,
      description,
      input_schema: parameters,
    } = tool as {
      name: string;
      description?: string;
      input_schema: Record<string, unknown>;
    };
    return { ...compact({ name, description }), parameters };
  }
  return { foreign: true, protocol: NAME, value: tool };
};

const decodeToolChoice = (choice: ChatRequest['tool_choice']): ToolChoice | undefined => {
  if (choice === undefined) return undefined;
  if (typeof choice === 'string') return { type: choice };
  if (choice.type === 'function') return { type: 'tool', name: choice.function.name };
  const { mode, tools } = choice.allowed_tools;
  return { type: mode, only: tools.map((tool) => tool.function.name) };
};

const decodeResponseFormat = (
  format: ChatRequest['response_format'],
): ResponseFormat | undefined => {
  switch (format?.type) {
    case 'json_object':
      return { type: 'json' };
    case 'json_schema': {
      const { name, schema, strict } = format.json_schema;
      return { type: 'json-schema', schema: schema ?? {}, ...compact({ name, strict }) };
    }
    default:
      return undefined;
  }
};

export const decodeRequest = (body: unknown): GenerationRequest => {
  const {
    model,
    messages,
    stream,
    max_tokens: maxTokens,
    temperature,
    top_p: topP,
    top_k: topK,
    n: _,
    stop,
    tools,
    tool_choice: toolChoice,
    functions: __,
    parallel_tool_calls: parallelToolCalls,
    response_format: responseFormat,
    reasoning_effort: effort,
    user,
    ...fields
  } = parseWire(ChatRequest, body);
  return compact({
    model,
    turns: messages.map(decodeMessage),
    stream: stream ?? false,
    // The newer name also rides along: it tells the encoder which of the two names to write.
    maxTokens: fields.max_completion_tokens ?? maxTokens,
    temperature,
    topP,
    topK,
    stop: typeof stop === 'string' ? [stop] : stop,
    tools: tools?.map(decodeTool),
    toolChoice: decodeToolChoice(toolChoice),
    parallelToolCalls,
    responseFormat: decodeResponseFormat(responseFormat),
    reasoning: effort === undefined ? undefined : { effort },
    user,
    extras: ride(NAME, fields),
  });
};

/** True when the caller wants a last chunk with the usage. */
export const wantsUsage = (request: GenerationRequest): boolean => {
  const options = fieldsFor(NAME, request.extras).stream_options as
    | { include_usage?: unknown }
    | undefined;
  return options?.include_usage === true;
};

// --- canonical -> wire ---

const encodeTool = (tool: Tool | ForeignTool): Record<string, unknown>[] => {
  if ('foreign' in tool) return tool.protocol === NAME ? [tool.value] : [];
  const { name, description, parameters, strict, extras } = tool;
  const { function: nested, ...fields } = fieldsFor(NAME, extras);
  const called = compact({
    ...(nested ?? {}),
    name: wireToolName(name),
    description,
    parameters,
    strict,
  });
  return [{ ...fields, type: 'function', function: called }];
};

const encodeToolChoice = (choice: ToolChoice | undefined): unknown => {
  if (choice === undefined) return undefined;
  if (choice.type === 'tool') {
    return { type: 'function', function: { name: wireToolName(choice.name) } };
  }
  if (choice.type === 'none' || choice.only === undefined) return choice.type;
  const tools = choice.only.map((name) => ({
    type: 'function',
    function: { name: wireToolName(name) },
  }));
  return { type: 'allowed_tools', allowed_tools: { mode: choice.type, tools } };
};

const encodeResponseFormat = (format: ResponseFormat | undefined): unknown => {
  if (format === undefined) return undefined;
  if (format.type === 'json') return { type: 'json_object' };
  const { name = 'output', schema, strict } = format;
  return { type: 'json_schema', json_schema: compact({ name, schema, strict }) };
};

/** Thinking budgets (tokens) that stand for each effort, from the least up. */
const EFFORT_UP_TO: [budget: number, effort: string][] = [
  [2_048, 'low'],
  [8_192, 'medium'],
  [24_576, 'high'],
];

const encodeEffort = ({ reasoning }: GenerationRequest): string | undefined => {
  if (reasoning?.effort !== undefined) return reasoning.effort;
  if (reasoning?.mode !== 'enabled' || reasoning.budgetTokens === undefined) return undefined;
  const { budgetTokens } = reasoning;
  return EFFORT_UP_TO.find(([budget]) => budgetTokens <= budget)?.[1] ?? 'xhigh';
};

/** The vendor's limit on end-user ids. Longer ones are agents' telemetry, which is nobody else's. */
const MAX_USER_LENGTH = 64;

const encodeUser = ({ user }: GenerationRequest): string | undefined =>
  user !== undefined && user.length <= MAX_USER_LENGTH ? user : undefined;

/** This wire takes at most four; see docs/translation.md. */
const MAX_STOP_SEQUENCES = 4;

export const encodeRequest = (
  request: GenerationRequest,
  target: WireTarget,
): Record<string, unknown> => {
  const {
    max_completion_tokens: newerName,
    stream_options: options,
    ...fields
  } = fieldsFor(NAME, request.extras);
  const tools = request.tools?.flatMap(encodeTool) ?? [];
  const spelling = newerName === undefined ? 'max_tokens' : 'max_completion_tokens';
  return compact({
    ...fields,
    model: target.model,
    messages: request.turns.flatMap((turn) => encodeTurn(turn, wireToolName)),
    stream: request.stream,
    // Always asked for: callers of the other family must be told the usage.
    stream_options: request.stream ? { ...(options ?? {}), include_usage: true } : undefined,
    [target.maxTokensField ?? spelling]: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.extras.protocol === NAME ? request.topK : undefined,
    stop: request.stop?.slice(0, MAX_STOP_SEQUENCES),
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: tools.length > 0 ? encodeToolChoice(request.toolChoice) : undefined,
    parallel_tool_calls: tools.length > 0 ? request.parallelToolCalls : undefined,
    response_format: encodeResponseFormat(request.responseFormat),
    reasoning_effort: encodeEffort(request),
    user: encodeUser(request),
  });
};
