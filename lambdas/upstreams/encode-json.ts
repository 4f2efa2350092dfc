import { type JsonSource, LARGE_BODY } from '../protocols/bytes/json.ts';
import { type Bytes, sizeOf } from '../support/bytes.ts';
import { createUtf8Writer } from '../support/utf8.ts';
import { unchangedListsOf } from './unchanged-lists.ts';

/** The JSON of a value, each item of a list a piece. */
function* piecesOf(value: unknown): Generator<string, void, void> {
  if (!Array.isArray(value)) return yield JSON.stringify(value);
  yield '[';
  for (const [index, item] of value.entries()) {
    yield `${index === 0 ? '' : ','}${JSON.stringify(item) ?? 'null'}`;
  }
  yield ']';
}

/** The JSON of an object: each list as its caller sent it, between the bytes of what is changed. */
const encodeLarge = (value: Record<string, unknown>, source: JsonSource): Uint8Array[] => {
  const unchanged = unchangedListsOf(source);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => {
      const sent = Array.isArray(member) ? unchanged(name, member) : undefined;
      return { name, member, sent };
    });
  const received = members.flatMap(({ sent }) => (sent instanceof Uint8Array ? [sent] : []));
  const { write, take } = createUtf8Writer(source.bytes - sizeOf(received));
  const parts: Uint8Array[] = [];
  for (const [index, { name, member, sent }] of members.entries()) {
    write(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`);
    if (sent instanceof Uint8Array) parts.push(take(), sent);
    else if (sent !== undefined) write(sent);
    else for (const piece of piecesOf(member)) write(piece);
  }
  write(members.length === 0 ? '{}' : '}');
  return [...parts, take()];
};

/**
 * Returns an object's JSON; of a large body the bytes: a text of the whole takes memory twice more before them, 9 MB of a
 * body of 4.5 MB.
 */
export const encodeJson = (value: Record<string, unknown>, source?: JsonSource): Bytes =>
  source !== undefined && source.bytes >= LARGE_BODY
    ? encodeLarge(value, source)
    : JSON.stringify(value);
