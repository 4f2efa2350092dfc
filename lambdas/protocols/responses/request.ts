import { omitUndefined } from '../../support/objects.ts';
import { parseWire } from '../../support/schema.ts';
import { listOf } from '../bytes/json.ts';
import type { GenerationRequest, Turn } from '../generation.ts';
import { makeExtras } from '../ledger/extras.ts';
import { decodeResponseFormat } from '../response-format.ts';
import { sharedIn } from '../shared-members.ts';
import { decodeInput } from './items.ts';
import { decodeToolChoice, decodeTools, joinTools } from './tools.ts';
import { CountRequest, ResponsesRequest } from './wire.ts';

const instructionsTurn = (text: string | undefined): Turn[] =>
  text ? [{ role: 'system', blocks: [{ type: 'text', text }] }] : [];

const decode = (wire: ResponsesRequest): GenerationRequest => {
  const { tool_choice, text, reasoning, metadata, safety_identifier, prompt_cache_key } = wire;
  const { prompt_cache_options, prompt_cache_retention } = wire;
  const { turns, tools: added } = decodeInput(wire.input);
  return omitUndefined({
    model: wire.model,
    turns: [...instructionsTurn(wire.instructions), ...turns],
    stream: wire.stream ?? false,
    maxTokens: wire.max_output_tokens,
    temperature: wire.temperature,
    topP: wire.top_p,
    tools: listOf(joinTools(decodeTools(wire.tools ?? []), added)),
    addedTools: listOf(added),
    toolChoice: decodeToolChoice(tool_choice),
    parallelToolCalls: wire.parallel_tool_calls,
    responseFormat: text?.format && decodeResponseFormat(text.format),
    reasoning: reasoning?.effort === undefined ? undefined : { effort: reasoning.effort },
    user: wire.user,
    chatFields: makeExtras('chat', {
      ...sharedIn('responses', wire),
      ...{ prompt_cache_key, prompt_cache_options, prompt_cache_retention },
    }).fields,
    // `echo` is repeated in the response, where the vendor's types require it.
    extras: makeExtras('responses', {
      echo: { tool_choice, text, reasoning, metadata, safety_identifier, prompt_cache_key },
    }),
  });
};

/** @throws ApiError 400 that names the first invalid field. */
export const decodeRequest = (body: unknown): GenerationRequest =>
  decode(parseWire(ResponsesRequest, body));

/** Body of the token-count endpoint: the same fields, `input` is optional. @throws ApiError 400 */
export const decodeCountRequest = (body: unknown): GenerationRequest =>
  decode(parseWire(CountRequest, body));
