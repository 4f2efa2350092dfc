import {
  boolean,
  exactOptional,
  type Infer,
  list,
  number,
  object,
  readIfValid,
  string,
} from '../../support/schema.ts';
import { TTL_ATTRIBUTE } from '../../tables.ts';
import type { BodyStore } from '../answer-store.ts';
import type { ResponseStore, StoredResponse } from '../response-store.ts';
import { type ConditionalWrite, createTable, type Item, type TableOptions } from './table.ts';

const StoredItem = object({
  before: list(string),
  expiresAt: number,
  leaseUntil: exactOptional(number),
  endedAt: exactOptional(number),
  hasBegun: exactOptional(boolean),
  isBackground: boolean,
  isStream: boolean,
  pieces: exactOptional(number),
  /** Compressed bodies in base64; absent if they are in the body store. */
  input: exactOptional(string),
  response: exactOptional(string),
});
type StoredItem = Infer<typeof StoredItem>;

/**
 * The conditional writes of a response. Each is a no-op when repeated:
 *
 *   create                                    it has ended
 *   create  renew  piece  renew  piece  end   in the background
 *   create  renew  †  lease over  end         its process died; the next reader ends it
 *   remove                                    no write above applies any more
 */
const CREATE: ConditionalWrite = {
  update: `SET #before = :before, #expiresAt = :expiresAt, #ttl = :ttl,
    #isBackground = :isBackground, #isStream = :isStream`,
  condition: 'attribute_not_exists(#deleted)',
  returns: 'NONE',
};
/** Members that not every response has. */
const OPTIONAL = ['leaseUntil', 'input', 'response'] as const;
const RENEW: ConditionalWrite = {
  update: 'SET #leaseUntil = :leaseUntil, #hasBegun = :true, #pieces = :pieces',
  condition: 'attribute_exists(#leaseUntil)',
  returns: 'NONE',
};
const END: ConditionalWrite = {
  update: 'SET #response = :response, #endedAt = :now REMOVE #leaseUntil',
  condition: 'attribute_exists(#leaseUntil) AND #leaseUntil <= :deadAt',
  returns: 'NONE',
};
const END_ELSEWHERE: ConditionalWrite = {
  ...END,
  update: 'SET #endedAt = :now REMOVE #leaseUntil, #response',
};
const PUT_PIECE: ConditionalWrite = {
  update: `SET #piece = :piece, #ttl = :ttl`,
  condition: 'attribute_not_exists(#deleted)',
  returns: 'NONE',
};
/** The number of pieces stays until all is removed: a removal that failed is continued by its repeat. */
const REMOVE: ConditionalWrite = {
  update: `SET #deleted = :true, #pieces = if_not_exists(#pieces, :zero)
    REMOVE #before, #leaseUntil, #endedAt, #hasBegun, #isBackground, #isStream, #input, #response`,
  condition: 'attribute_exists(#before) OR attribute_exists(#pieces)',
};
const REMOVE_PIECE: ConditionalWrite = {
  update: `SET #deleted = :true, #ttl = :ttl REMOVE #piece`,
  returns: 'NONE',
};
const FORGET_PIECES: ConditionalWrite = { update: 'REMOVE #pieces', returns: 'NONE' };

/** Later than each lease: the owner of a response ends it at any time. */
const ANY_TIME = Number.MAX_SAFE_INTEGER;

/** Compressed bytes of one body that fit into an item of 400 KB, in base64 and next to a thousand ids. */
const MAX_BODY = 120_000;
/** Of an item that has nothing else. */
const MAX_PIECE = 290_000;

const pieceOf = (key: string, index: number): string => `${key}#${index}`;
const nameOf = (key: string, part: string | number): string => `responses/${key}/${part}`;

const encode = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const ttlOf = (expiresAt: number): number => Math.ceil(expiresAt / 1000);

const parseItem = (item: Item | undefined, now: number): StoredItem | undefined => {
  const stored = readIfValid(StoredItem, item);
  return stored && stored.expiresAt > now ? stored : undefined;
};

type Options = TableOptions & { bodies?: BodyStore | undefined };

/** `ResponseStore` on the answers table: an item for a response, and one for each piece of its stream. */
export const createDynamoResponseStore = ({ bodies, ...options }: Options): ResponseStore => {
  const table = createTable(options);
  const apply = (key: string, write: ConditionalWrite, values: Record<string, unknown>) =>
    table.apply(key, write, { values: { ':true': true, ...values } });

  /** The text for an item; undefined if the bytes are in the body store instead. */
  const put = async (name: string, bytes: Uint8Array, max: number, expiresAt?: number) => {
    if (!bodies || bytes.byteLength <= max) return encode(bytes);
    await bodies.put(name, bytes, expiresAt);
    return undefined;
  };
  const read = (name: string, text: string | undefined) =>
    text === undefined ? bodies?.get(name) : Buffer.from(text, 'base64');

  const removeBodies = async (key: string) => {
    await bodies?.remove(nameOf(key, 'input'));
    await bodies?.remove(nameOf(key, 'response'));
  };

  const create: ResponseStore['create'] = async ({ key, expiresAt }, stored) => {
    const { before, isBackground, isStream, leaseUntil } = stored;
    const [input, response] = await Promise.all([
      put(nameOf(key, 'input'), stored.input, MAX_BODY, expiresAt),
      put(nameOf(key, 'response'), stored.response, MAX_BODY, expiresAt),
    ]);
    const optional = { leaseUntil, input, response };
    const sets = OPTIONAL.filter((name) => optional[name] !== undefined);
    const update = [CREATE.update, ...sets.map((name) => `#${name} = :${name}`)].join(', ');
    const { applied } = await apply(
      key,
      { ...CREATE, update },
      {
        ...{ ':before': before, ':isBackground': isBackground, ':isStream': isStream },
        ...{ ':expiresAt': expiresAt, ':ttl': ttlOf(expiresAt) },
        ...Object.fromEntries(sets.map((name) => [`:${name}`, optional[name]])),
      },
    );
    if (!applied) await removeBodies(key);
    return applied;
  };

  const readStored = async (
    key: string,
    { input: sent, response: said, ...stored }: StoredItem,
  ): Promise<StoredResponse | undefined> => {
    const [input, response] = await Promise.all([
      read(nameOf(key, 'input'), sent),
      read(nameOf(key, 'response'), said),
    ]);
    const {
      before,
      leaseUntil,
      endedAt,
      hasBegun = false,
      isBackground,
      isStream,
      pieces = 0,
    } = stored;
    const members = { before, leaseUntil, endedAt, hasBegun, isBackground, isStream, pieces };
    return input && response && { ...members, input, response };
  };

  const removePieces = async (key: string, count: number, ttl: unknown) => {
    for (let index = 0; index < count; index += 1) {
      await apply(pieceOf(key, index), REMOVE_PIECE, { ':ttl': ttl });
      await bodies?.remove(nameOf(key, index));
    }
  };

  return {
    create,
    find: async (key, now) => {
      const stored = parseItem(await table.read(key), now);
      return stored && readStored(key, stored);
    },
    renew: async (key, { leaseUntil, pieces }) =>
      (await apply(key, RENEW, { ':leaseUntil': leaseUntil, ':pieces': pieces })).applied,
    end: async ({ key, expiresAt }, bytes, { now, deadAt = ANY_TIME }) => {
      const name = nameOf(key, 'response');
      const response = await put(name, bytes, MAX_BODY, expiresAt);
      const write = response === undefined ? END_ELSEWHERE : END;
      const values = { ':response': response, ':deadAt': deadAt, ':now': now };
      const { applied, mayBeDuplicated } = await apply(key, write, values);
      // It was deleted, or cancelled, which leaves the small body of the item.
      if (!applied && !mayBeDuplicated && response === undefined) await bodies?.remove(name);
      return applied || mayBeDuplicated;
    },
    putPiece: async ({ key, expiresAt }, index, bytes) => {
      const name = nameOf(key, index);
      const piece = await put(name, bytes, MAX_PIECE, expiresAt);
      const values = { ':piece': piece ?? '', ':ttl': ttlOf(expiresAt) };
      const { applied } = await apply(pieceOf(key, index), PUT_PIECE, values);
      if (!applied && piece === undefined) await bodies?.remove(name);
    },
    findPiece: async (key, index) => {
      const item = await table.read(pieceOf(key, index));
      const piece = item?.piece;
      if (typeof piece !== 'string') return undefined;
      return read(nameOf(key, index), piece === '' ? undefined : piece);
    },
    remove: async (key) => {
      const { applied, item } = await apply(key, REMOVE, { ':zero': 0 });
      if (!applied || !item) return false;
      await removePieces(key, Number(item.pieces ?? 0), item[TTL_ATTRIBUTE]);
      await removeBodies(key);
      await apply(key, FORGET_PIECES, {});
      return true;
    },
  };
};
