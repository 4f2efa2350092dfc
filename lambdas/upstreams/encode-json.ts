import type { HttpBody } from '../http-client/connection.ts';
import { type JsonSource, LARGE_BODY } from '../protocols/json.ts';
import { toUtf8 } from '../support/utf8.ts';
import { unchangedListsOf } from './unchanged-lists.ts';

/** The JSON of a list, each item a piece. */
function* piecesOfList(items: unknown[]): Generator<string, void, void> {
  yield '[';
  for (const [index, item] of items.entries()) {
    yield `${index === 0 ? '' : ','}${JSON.stringify(item) ?? 'null'}`;
  }
  yield ']';
}

/** The JSON of an object, each member a piece: a list as its caller sent it, or each item of a changed one. */
function* piecesOf(
  value: Record<string, unknown>,
  source: JsonSource,
): Generator<string, void, void> {
  const unchanged = unchangedListsOf(source);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  yield '{';
  for (const [index, [name, member]] of members.entries()) {
    yield `${index === 0 ? '' : ','}${JSON.stringify(name)}:`;
    const sent = Array.isArray(member) ? unchanged(name, member) : undefined;
    if (sent !== undefined) yield sent;
    else if (Array.isArray(member)) yield* piecesOfList(member);
    else yield JSON.stringify(member);
  }
  yield '}';
}

/**
 * Returns an object's JSON; of a large body the bytes, which are written piece by piece: a text of the whole takes
 * memory twice more before them, 9 MB of a body of 4.5 MB.
 */
export const encodeJson = (value: Record<string, unknown>, source?: JsonSource): HttpBody =>
  source !== undefined && source.bytes >= LARGE_BODY
    ? toUtf8(piecesOf(value, source), source.bytes)
    : JSON.stringify(value);
