import type { Json, JsonSource } from '../protocols/bytes/json.ts';
import { moveStrings } from '../protocols/bytes/move-strings.ts';
import type { Bytes } from '../support/bytes.ts';
import { encodePieces } from '../support/utf8.ts';

/** Bytes of a body of which the long strings are worth finding. */
const LARGE_BODY = 65_536;

/** Returns an object's JSON; of a large body, with the long strings as its caller sent them. */
export const encodeJson = (value: Json, source?: JsonSource): Bytes =>
  source && source.bytes >= LARGE_BODY
    ? moveStrings(value, source)
    : encodePieces([JSON.stringify(value)]);
