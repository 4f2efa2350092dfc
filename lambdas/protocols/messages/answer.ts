import { isRecord } from '../../support/objects.ts';
import { listOf, objectOf, orNull, type Shape, text } from '../bytes/edits.ts';
import { asCount, asRecord } from '../bytes/json.ts';

const object = orNull(isRecord);
const count: Shape = (value) => asCount(value) !== undefined;
const none: Shape = (value) => value === null;

const TextBlock = objectOf({ citations: orNull(Array.isArray) });
/** Blocks of other kinds, and of kinds to come, are sent as they were received. */
const Block: Shape = (value, misfits) =>
  asRecord(value)?.type !== 'text' || TextBlock(value, misfits);

/** What the end of a message states. */
const END = { container: object, stop_details: object, stop_sequence: orNull(text) };

const MEMBERS = {
  ...END,
  content: listOf(Block),
  diagnostics: object,
  usage: objectOf({
    cache_creation: object,
    cache_creation_input_tokens: orNull(count),
    cache_read_input_tokens: orNull(count),
    output_tokens_details: orNull((value) => count(asRecord(value)?.thinking_tokens, [])),
    server_tool_use: object,
    inference_geo: orNull(text),
    service_tier: orNull(text),
    speed: orNull(text),
  }),
};

/** A response as clients read it, whole or in events. An operator may state its container at the start. */
export const Answer = objectOf({
  ...MEMBERS,
  content_block: Block,
  delta: objectOf(END),
  message: objectOf({
    ...MEMBERS,
    container: none,
    stop_details: none,
    stop_reason: none,
    stop_sequence: none,
  }),
});
