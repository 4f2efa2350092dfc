import { isAscii } from 'node:buffer';
import type { Json, JsonSource } from '../protocols/bytes/json.ts';
import { moveStrings } from '../protocols/bytes/move-strings.ts';
import { type Bytes, encodePieces } from '../support/bytes.ts';

/** Bytes of a body of which the long strings are worth finding. */
const LARGE_BODY = 24_576;

/** V8 writes and encodes ASCII faster than its strings are found. */
const isWide = ({ raw }: JsonSource): boolean => typeof raw === 'string' || !isAscii(raw);

/** Returns an object's JSON; of a large body, unless it is ASCII, with the long strings as its caller sent them. */
export const encodeJson = (value: Json, source?: JsonSource): Bytes =>
  source && source.bytes >= LARGE_BODY && isWide(source)
    ? moveStrings(value, source)
    : encodePieces([JSON.stringify(value)]);
