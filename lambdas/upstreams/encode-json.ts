import type { Bytes } from '../support/bytes.ts';
import { createUtf8Writer } from '../support/utf8.ts';

/** Bytes of a caller's body. What is sent for a smaller one is encoded as one text, which takes less time. */
const LARGE_BODY = 256_000;

/** The JSON of a value, each item of a list a piece. */
function* piecesOf(value: unknown): Generator<string, void, void> {
  if (!Array.isArray(value)) return yield JSON.stringify(value);
  yield '[';
  for (const [index, item] of value.entries()) {
    yield `${index === 0 ? '' : ','}${JSON.stringify(item) ?? 'null'}`;
  }
  yield ']';
}

const encodeInPieces = (value: Record<string, unknown>, bytes: number): Uint8Array[] => {
  const { write, take } = createUtf8Writer(bytes);
  let isFirst = true;
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    write(`${isFirst ? '{' : ','}${JSON.stringify(name)}:`);
    for (const piece of piecesOf(member)) write(piece);
    isFirst = false;
  }
  write(isFirst ? '{}' : '}');
  return [take()];
};

/**
 * Returns an object's JSON; of a large body, which its caller sent in `bytes`, the bytes: a text of the whole takes memory
 * twice more before them, 9 MB of a body of 4.5 MB.
 */
export const encodeJson = (value: Record<string, unknown>, bytes = 0): Bytes =>
  bytes >= LARGE_BODY ? encodeInPieces(value, bytes) : JSON.stringify(value);
