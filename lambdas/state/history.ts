import { asString, type Json } from '../protocols/bytes/json.ts';
import { invalidRequest, notFound } from '../support/errors.ts';
import { isReference, isResponseId, objectsIn, responseOfItem, sendable } from './items.ts';
import type { FindResponse, Found } from './stored.ts';

/** Responses before one in its conversation. */
const MAX_TURNS = 1_000;
const READ_AT_ONCE = 25;

const previousNotFound = (id: string) =>
  // People paste keys into any field: only an id is repeated.
  invalidRequest(`Previous response with id '${isResponseId(id) ? id : '…'}' not found.`, {
    code: 'previous_response_not_found',
    param: 'previous_response_id',
  });

const notEnded = () =>
  invalidRequest(
    'previous_response_id: this response is still running. Continue it once it has ended.',
    { param: 'previous_response_id' },
  );

const tooLong = () =>
  invalidRequest(
    `previous_response_id: the conversation has ${MAX_TURNS} responses. Send its items in input to continue it.`,
    { param: 'previous_response_id' },
  );

const itemNotFound = () =>
  notFound('input: an item reference names no stored item. Send the item itself.', {
    param: 'input',
  });

const outputOf = ({ response }: Found): Json[] => objectsIn(response.output);

/** Reads the responses of some ids, in their order; undefined for those that the project does not have. */
const findAll = async (find: FindResponse, projectId: string, ids: string[]) => {
  const found: (Found | undefined)[] = [];
  for (let index = 0; index < ids.length; index += READ_AT_ONCE) {
    const some = ids.slice(index, index + READ_AT_ONCE);
    found.push(...(await Promise.all(some.map((id) => find(projectId, id)))));
  }
  return found;
};

/** A conversation: ids of its stored responses, and all items as a request sends them. */
export type History = {
  before: string[];
  items: Json[];
  /** The request's own items are all. */
  isWhole: boolean;
};

export type Reading = { find: FindResponse; projectId: string };

/** Everything that a response was made from and to. @throws ApiError 400 or 503 */
const readHistory = async ({ find, projectId }: Reading, previous: string): Promise<Found[]> => {
  const last = isResponseId(previous) ? await find(projectId, previous) : undefined;
  if (!last) throw previousNotFound(previous);
  if (last.leaseUntil !== undefined) throw notEnded();
  if (last.before.length >= MAX_TURNS) throw tooLong();
  const earlier = await findAll(find, projectId, last.before);
  return [...earlier, last].map((found, index) => {
    if (!found) throw previousNotFound(last.before[index] ?? '');
    return found;
  });
};

/** Replaces references by the items that they name. Those to lost reasoning stay: it costs quality, not content. */
const resolve = async (
  { find, projectId }: Reading,
  items: Json[],
  known: (Found | undefined)[],
): Promise<Json[]> => {
  const wanted = items.filter(isReference).map(({ id }) => asString(id) ?? '');
  if (wanted.length === 0) return items;
  const have = new Set(known.map((found) => found?.id));
  const ids = new Set(wanted.flatMap((id) => responseOfItem(id) ?? []));
  const missing = [...ids].filter((id) => !have.has(id));
  if (missing.length > MAX_TURNS) throw tooLong();
  const found = [...known, ...(await findAll(find, projectId, missing))];
  const byId = new Map<unknown, Json>();
  for (const one of found) {
    for (const item of one ? [...one.input, ...outputOf(one)] : []) {
      if (!isReference(item)) byId.set(item.id, item);
    }
  }
  return items.map((item) => {
    if (!isReference(item)) return item;
    const named = byId.get(item.id);
    if (!named && !asString(item.id)?.startsWith('rs_')) throw itemNotFound();
    return named ?? item;
  });
};

/** The stored conversation that a request continues, and its own items. @throws ApiError 400, 404 or 503 */
export const readConversation = async (
  reading: Reading,
  previous: string | undefined,
  own: Json[],
): Promise<History> => {
  const turns = previous === undefined ? [] : await readHistory(reading, previous);
  const stored = turns.flatMap((turn) => [...turn.input, ...outputOf(turn)]);
  const all = [...stored, ...own];
  const items = await resolve(reading, all, turns);
  return {
    before: turns.map(({ id }) => id),
    items: items.map((item, index) =>
      item === own[index - stored.length] ? item : sendable(item),
    ),
    isWhole: previous === undefined && items === all,
  };
};

/** All that a stored response was made from, without what was deleted since. @throws ApiError 503 */
export const readInput = async (reading: Reading, found: Found): Promise<Json[]> => {
  const turns = await findAll(reading.find, reading.projectId, found.before);
  const items = turns.flatMap((turn) => (turn ? [...turn.input, ...outputOf(turn)] : []));
  try {
    return await resolve(reading, [...items, ...found.input], turns);
  } catch {
    return [...items, ...found.input];
  }
};
