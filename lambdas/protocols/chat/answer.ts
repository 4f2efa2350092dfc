import { isRecord } from '../../support/objects.ts';
import { listOf, objectOf, orNull, text } from '../bytes/edits.ts';

const Called = objectOf({ name: text, arguments: text });
const Call = objectOf({
  type: (value) => value === 'function' || value === 'custom',
  function: Called,
  custom: objectOf({ name: text, input: text }),
});

/** A message, or what a chunk adds to it. */
const Said = objectOf({
  content: orNull(text),
  refusal: orNull(text),
  reasoning_content: orNull(text),
  reasoning: orNull(text),
  annotations: orNull(Array.isArray),
  audio: orNull(isRecord),
  tool_calls: listOf(Call),
  function_call: Called,
});

/** A response as clients read it, whole or in chunks. */
export const Answer = objectOf({
  // Null on a chunk of counts, whose choices the relay sets.
  choices: orNull(listOf(objectOf({ message: Said, delta: Said, logprobs: orNull(isRecord) }))),
  service_tier: orNull(text),
  system_fingerprint: orNull(text),
});
