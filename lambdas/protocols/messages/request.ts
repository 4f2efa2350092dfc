import { compact, isEmpty } from '../../support/compact.ts';
import type {
  ForeignTool,
  GenerationRequest,
  Reasoning,
  ResponseFormat,
  Tool,
  ToolChoice,
} from '../generation.ts';
import { asRecord } from '../json.ts';
import { fieldsFor, parseWire, ride, rideIfAny } from '../parse-wire.ts';
import type { WireTarget } from '../protocol.ts';
import { decodeMessage, decodeSystem, encodeTurns } from './turns.ts';
import { CountRequest, MessagesRequest, type WireTool, type WireToolChoice } from './wire.ts';

const NAME = 'messages';

// --- wire -> canonical ---

const decodeTool = (tool: WireTool): Tool | ForeignTool => {
  if (!('input_schema' in tool) || (tool.type !== undefined && tool.type !== 'custom')) {
    return { foreign: true, protocol: NAME, value: tool };
  }
  const {
    type: _,
    name,
    description,
    input_schema: parameters,
    strict,
    ...fields
  } = tool as {
    type?: string;
    name: string;
    description?: string;
    input_schema: Record<string, unknown>;
    strict?: boolean;
  };
  return { ...compact({ name, description, strict }), parameters, ...rideIfAny(NAME, fields) };
};

const decodeToolChoice = (choice: WireToolChoice): ToolChoice => {
  if (choice.type === 'tool') return { type: 'tool', name: choice.name };
  return { type: choice.type === 'any' ? 'required' : choice.type };
};

/** Absent says nothing; the wire's switch is a negative. */
const decodeParallel = (choice: WireToolChoice | undefined): boolean | undefined => {
  if (!choice || choice.type === 'none') return undefined;
  const { disable_parallel_tool_use: disabled } = choice;
  return disabled === undefined ? undefined : !disabled;
};

const REASONING_MODES = ['enabled', 'adaptive', 'disabled'] as const;

const modeOf = (thinking: CountRequest['thinking']): Reasoning['mode'] =>
  REASONING_MODES.find((mode) => mode === thinking?.type);

const decodeReasoning = ({
  thinking,
  output_config: config,
}: CountRequest): Reasoning | undefined => {
  const reasoning = compact({
    effort: config?.effort,
    budgetTokens: thinking?.budget_tokens,
    mode: modeOf(thinking),
  });
  return isEmpty(reasoning) ? undefined : reasoning;
};

const decodeFormat = (format: unknown): ResponseFormat | undefined => {
  const schema = asRecord(asRecord(format)?.schema);
  return schema && { type: 'json-schema', schema };
};

/** What is left of a field whose known members are canonical; it rides along under its name. */
const leftover = (name: string, record: object | undefined, known: string[]) => {
  const rest = Object.entries(record ?? {}).filter(
    ([key, value]) => !known.includes(key) && value != null,
  );
  return rest.length > 0 ? { [name]: Object.fromEntries(rest) } : {};
};

const decode = (wire: CountRequest): GenerationRequest => {
  const {
    model,
    messages,
    system,
    max_tokens: maxTokens,
    stream,
    temperature,
    top_p: topP,
    top_k: topK,
    stop_sequences: stop,
    tools,
    tool_choice: toolChoice,
    thinking,
    output_config: outputConfig,
    output_format: outputFormat,
    metadata,
    thread: _,
    ...fields
  } = wire;
  return compact({
    model,
    turns: [...decodeSystem(system), ...messages.map(decodeMessage)],
    stream: stream ?? false,
    maxTokens,
    temperature,
    topP,
    topK,
    stop,
    tools: tools?.map(decodeTool),
    toolChoice: toolChoice && decodeToolChoice(toolChoice),
    parallelToolCalls: decodeParallel(toolChoice),
    // `output_format` is the field's name in an older beta.
    responseFormat: decodeFormat(outputConfig?.format ?? outputFormat),
    reasoning: decodeReasoning(wire),
    user: metadata?.user_id,
    extras: ride(NAME, {
      ...fields,
      // A mode that is new to this router rides along as a whole.
      ...leftover(
        'thinking',
        thinking,
        modeOf(thinking) ? ['type', 'budget_tokens'] : ['budget_tokens'],
      ),
      ...leftover('output_config', outputConfig, ['effort', 'format']),
      ...leftover('metadata', metadata, ['user_id']),
    }),
  });
};

export const decodeRequest = (body: unknown): GenerationRequest =>
  decode(parseWire(MessagesRequest, body));

/** A body of the token-count endpoint: the same fields, no `max_tokens` needed. */
export const decodeCountRequest = (body: unknown): GenerationRequest =>
  decode(parseWire(CountRequest, body));

// --- canonical -> wire ---

const encodeTool = (tool: Tool | ForeignTool): Record<string, unknown>[] => {
  if ('foreign' in tool) return tool.protocol === NAME ? [tool.value] : [];
  const { name, description, parameters, strict, extras } = tool;
  // The vendor demands an object schema; a chat function without parameters takes none.
  const schema = { type: 'object', ...parameters };
  return [compact({ ...fieldsFor(NAME, extras), name, description, input_schema: schema, strict })];
};

/** The tools that a narrowed choice leaves; this wire cannot narrow in the choice itself. */
const offeredTools = ({ tools = [], toolChoice }: GenerationRequest): (Tool | ForeignTool)[] => {
  const only = toolChoice && 'only' in toolChoice ? toolChoice.only : undefined;
  return only ? tools.filter((tool) => 'foreign' in tool || only.includes(tool.name)) : tools;
};

const CHOICE = { auto: 'auto', required: 'any', none: 'none' } as const;

const encodeToolChoice = ({ toolChoice, parallelToolCalls }: GenerationRequest) => {
  const parallel =
    parallelToolCalls === undefined ? {} : { disable_parallel_tool_use: !parallelToolCalls };
  if (toolChoice?.type === 'none') return { type: 'none' };
  if (toolChoice?.type === 'tool') return { type: 'tool', name: toolChoice.name, ...parallel };
  if (toolChoice) return { type: CHOICE[toolChoice.type], ...parallel };
  // The switch needs a choice to sit on.
  return parallelToolCalls === false ? { type: 'auto', ...parallel } : undefined;
};

const encodeThinking = ({ reasoning }: GenerationRequest) => {
  if (reasoning?.mode) {
    return compact({ type: reasoning.mode, budget_tokens: reasoning.budgetTokens });
  }
  return reasoning?.effort === 'none' ? { type: 'disabled' } : undefined;
};

const encodeEffort = ({ reasoning }: GenerationRequest): string | undefined => {
  if (reasoning?.effort === 'none') return undefined;
  return reasoning?.effort === 'minimal' ? 'low' : reasoning?.effort;
};

const encodeOutputConfig = (request: GenerationRequest) => {
  const { responseFormat: format } = request;
  const config = compact({
    effort: encodeEffort(request),
    format:
      format?.type === 'json-schema' ? { type: 'json_schema', schema: format.schema } : undefined,
  });
  return isEmpty(config) ? undefined : config;
};

/** This wire has no plain JSON mode; the model is asked for it. */
const JSON_INSTRUCTION = 'Reply with one JSON object and nothing else.';

const withInstruction = (request: GenerationRequest): GenerationRequest['turns'] =>
  request.responseFormat?.type === 'json'
    ? [{ role: 'system', blocks: [{ type: 'text', text: JSON_INSTRUCTION }] }, ...request.turns]
    : request.turns;

/** A field made of what rode along and what is canonical; absent when neither says anything. */
const merged = (rode: unknown, own: object | undefined) =>
  rode === undefined && own === undefined ? undefined : { ...asRecord(rode), ...own };

/** Chat allows up to 2, this wire up to 1. */
const MAX_TEMPERATURE = 1;

export const encodeRequest = (
  request: GenerationRequest,
  target: WireTarget,
): Record<string, unknown> => {
  const { thinking, output_config: config, metadata, ...fields } = fieldsFor(NAME, request.extras);
  const tools = offeredTools(request).flatMap(encodeTool);
  const { temperature, user } = request;
  return compact({
    ...fields,
    model: target.model,
    ...encodeTurns(withInstruction(request), request.extras.protocol === NAME),
    max_tokens: request.maxTokens ?? target.maxOutputTokens,
    stream: request.stream,
    temperature: temperature === undefined ? undefined : Math.min(temperature, MAX_TEMPERATURE),
    top_p: request.topP,
    top_k: request.topK,
    stop_sequences: request.stop,
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: tools.length > 0 ? encodeToolChoice(request) : undefined,
    thinking: merged(thinking, encodeThinking(request)),
    output_config: merged(config, encodeOutputConfig(request)),
    metadata: merged(metadata, user === undefined ? undefined : { user_id: user }),
  });
};
