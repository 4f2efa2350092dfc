import { omitUndefined } from '../../support/omit-undefined.ts';
import { parseWire } from '../../support/schema.ts';
import { listOf } from '../bytes/json.ts';
import type { GenerationRequest, Turn } from '../generation.ts';
import { makeExtras } from '../ledger/extras.ts';
import { decodeResponseFormat } from '../response-format.ts';
import { sharedIn } from '../shared-members.ts';
import { decodeInput } from './items.ts';
import { NAME } from './name.ts';
import { decodeToolChoice, decodeTools, joinTools } from './tools.ts';
import { CountRequest, ResponsesRequest } from './wire.ts';

const instructionsTurn = (text: string | undefined): Turn[] =>
  text ? [{ role: 'system', blocks: [{ type: 'text', text }] }] : [];

const decode = (wire: ResponsesRequest): GenerationRequest => {
  const {
    model,
    input,
    instructions,
    stream,
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
    safety_identifier,
    prompt_cache_key,
    prompt_cache_options,
    prompt_cache_retention,
  } = wire;
  const { turns, tools: added } = decodeInput(input);
  return omitUndefined({
    model,
    turns: [...instructionsTurn(instructions), ...turns],
    stream: stream ?? false,
    maxTokens,
    temperature,
    topP,
    tools: listOf(joinTools(decodeTools(wireTools ?? []), added)),
    addedTools: listOf(added),
    toolChoice: decodeToolChoice(toolChoice),
    parallelToolCalls,
    responseFormat: text?.format && decodeResponseFormat(text.format),
    reasoning: reasoning?.effort === undefined ? undefined : { effort: reasoning.effort },
    user,
    chatFields: makeExtras('chat', {
      ...sharedIn(NAME, wire),
      ...{ prompt_cache_key, prompt_cache_options, prompt_cache_retention },
    }).fields,
    // `echo` is repeated in the response, where the vendor's types require it.
    extras: makeExtras(NAME, {
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
