import { omitUndefined } from '../../support/omit-undefined.ts';
import { parseWire } from '../../support/schema.ts';
import { asArray, listOf } from '../bytes/json.ts';
import type { GenerationRequest, ResponseFormat, Turn } from '../generation.ts';
import { makeExtras } from '../ledger/extras.ts';
import { decodeInput } from './items.ts';
import { NAME } from './name.ts';
import { decodeToolChoice, decodeTools, joinTools } from './tools.ts';
import { CountRequest, ResponsesRequest, type TextFormat } from './wire.ts';

const decodeFormat = (format: TextFormat | undefined): ResponseFormat | undefined => {
  switch (format?.type) {
    case 'json_object':
      return { type: 'json' };
    case 'json_schema': {
      const { name, description, schema = {}, strict } = format;
      return { type: 'json-schema', schema, ...omitUndefined({ name, description, strict }) };
    }
    default:
      return undefined;
  }
};

const instructionsTurn = (text: string | undefined): Turn[] =>
  text ? [{ role: 'system', blocks: [{ type: 'text', text }] }] : [];

/** Fields that are carried, or that agents and SDKs send to every provider and that do not change a response. */
const KNOWN = [
  ...['service_tier', 'safety_identifier', 'client_metadata', 'stream_options'],
  ...['prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options'],
];

/** Members of `reasoning` and `text` that are carried, or without effect: thinking is always in the summary. */
const KNOWN_MEMBERS = ['effort', 'summary', 'generate_summary', 'format', 'verbosity'];

/** All else that may be included is included, or belongs to hosted tools. */
const LOGPROBS = 'message.output_text.logprobs';

/** Values that ask for what every target does. */
const DEFAULTS: Record<string, unknown> = { context: 'auto', mode: 'standard', top_logprobs: 0 };

const unknownIn = (fields: object | undefined, known: string[], prefix = ''): string[] =>
  Object.entries(fields ?? {}).flatMap(([name, value]) =>
    known.includes(name) || value == null || value === DEFAULTS[name] ? [] : `${prefix}${name}`,
  );

/** Names of the fields that a response would depend on, and that are not carried. */
const droppedFields = (
  { store, truncation, include, reasoning, text }: ResponsesRequest,
  rest: Record<string, unknown>,
): string[] => [
  // The vendor stores a response unless the request states otherwise.
  ...(store === false ? [] : ['store']),
  ...(truncation === 'auto' ? ['truncation'] : []),
  ...(asArray(include).includes(LOGPROBS) ? ['include'] : []),
  ...unknownIn(reasoning, KNOWN_MEMBERS, 'reasoning.'),
  ...unknownIn(text, KNOWN_MEMBERS, 'text.'),
  ...unknownIn(rest, KNOWN),
];

const decode = (wire: ResponsesRequest): GenerationRequest => {
  const {
    model,
    input,
    instructions,
    stream,
    store: _store,
    max_output_tokens: maxTokens,
    temperature,
    top_p: topP,
    tools: wireTools,
    tool_choice: toolChoice,
    parallel_tool_calls: parallelToolCalls,
    text,
    reasoning,
    user,
    metadata,
    truncation: _truncation,
    include: _include,
    ...rest
  } = wire;
  const { turns, tools: added, dropped: droppedItems } = decodeInput(input);
  const { tools, dropped: droppedTools } = decodeTools(wireTools ?? []);
  const { service_tier, safety_identifier, prompt_cache_key } = rest;
  const shared = { service_tier, safety_identifier, verbosity: text?.verbosity };
  return omitUndefined({
    model,
    turns: [...instructionsTurn(instructions), ...turns],
    stream: stream ?? false,
    maxTokens,
    temperature,
    topP,
    tools: listOf(joinTools(tools, added)),
    toolChoice: decodeToolChoice(toolChoice),
    parallelToolCalls,
    responseFormat: decodeFormat(text?.format),
    reasoning: reasoning?.effort === undefined ? undefined : { effort: reasoning.effort },
    user,
    dropped: listOf([...new Set([...droppedFields(wire, rest), ...droppedTools, ...droppedItems])]),
    // `echo` is repeated in the response, where the vendor's types require it.
    extras: makeExtras(NAME, {
      ...shared,
      echo: {
        ...{ tool_choice: toolChoice, text, reasoning, metadata },
        ...{ safety_identifier, prompt_cache_key },
      },
    }),
  });
};

/** @throws ApiError 400 that names the first invalid field. */
export const decodeRequest = (body: unknown): GenerationRequest =>
  decode(parseWire(ResponsesRequest, body));

/** Body of the token-count endpoint: the same fields, `input` is optional. @throws ApiError 400 */
export const decodeCountRequest = (body: unknown): GenerationRequest =>
  decode(parseWire(CountRequest, body));
