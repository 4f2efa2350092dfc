import { withMarksFor } from '#late/crossing';
import { omitUndefined } from '../../support/objects.ts';
import { withEdits } from '../bytes/edits.ts';
import { asArray, type Json } from '../bytes/json.ts';
import { knownFields, rejectedMembers, sessionKey } from '../cache/members.ts';
import { encodeMaxTokens, encodeUser } from '../fit-request.ts';
import type { GenerationRequest, ResponseFormat } from '../generation.ts';
import { instructionEdits } from '../instructions.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import type { WireTarget } from '../protocol.ts';
import { isStrictSchema } from '../tools/schemas.ts';
import { encodeTurns } from './encode-turns.ts';
import { asksForUsage, fitTo } from './request.ts';
import { encodeToolFields } from './tools.ts';

/**
 * The messages protocol always enforces its schema, so its callers get strict mode if the schema
 * allows it.
 */
const encodeResponseFormat = (format: ResponseFormat, sameProtocol: boolean): Json => {
  if (format.type === 'json') return { type: 'json_object' };
  const { name = 'output', description, schema } = format;
  const strict = format.strict ?? (!sameProtocol && isStrictSchema(schema));
  const wire = { name, description, schema, strict: strict || format.strict };
  return { type: 'json_schema', json_schema: omitUndefined(wire) };
};

/** @throws ApiError 400 when no part of the conversation has a form in this protocol. */
export const encodeRequest = (
  original: GenerationRequest,
  target: WireTarget,
): Record<string, unknown> => {
  const fitted = fitTo(original, target).request;
  const request = withMarksFor(fitted, { to: 'chat', profile: target });
  const {
    max_completion_tokens: newerName,
    stream_options: options,
    functions: _mark,
    ...fields
  } = { ...knownFields(request.chatFields, target), ...extraFieldsFor('chat', request.extras) };
  const sameProtocol = request.extras.protocol === 'chat';
  const tokensField = newerName === undefined ? 'max_tokens' : 'max_completion_tokens';
  const wire: Json = omitUndefined({
    ...fields,
    model: target.model,
    messages: encodeTurns(request, target),
    stream: request.stream,
    // Callers of other protocols need the usage.
    stream_options: asksForUsage(request, target)
      ? { ...(options ?? {}), include_usage: true }
      : undefined,
    [target.maxTokensField ?? tokensField]: encodeMaxTokens(request, target),
    temperature: request.temperature,
    top_p: request.topP,
    top_k: sameProtocol ? request.topK : undefined,
    stop: request.stop,
    n: request.choices,
    ...encodeToolFields(request),
    response_format:
      request.responseFormat && encodeResponseFormat(request.responseFormat, sameProtocol),
    reasoning_effort: request.reasoning?.effort,
    user: encodeUser(request),
    prompt_cache_key: fields.prompt_cache_key ?? sessionKey(request, target),
  });
  const { instructions } = request;
  return withEdits(wire, [
    ...rejectedMembers(wire, target),
    ...(instructions ? instructionEdits(asArray(wire.messages), instructions, true) : []),
  ]);
};
