import * as s from '../../support/schema.ts';
import { TTL_ATTRIBUTE } from '../../tables.ts';
import type { BodyStore } from '../answer-store.ts';
import type { ResponseStore, StoredResponse } from '../response-store.ts';
import { expiring } from './item-write.ts';
import { createTable, type Item, type TableOptions } from './table.ts';

const StoredItem = s.object({
  before: s.list(s.string),
  expiresAt: s.number,
  leaseUntil: s.exactOptional(s.number),
  endedAt: s.exactOptional(s.number),
  hasBegun: s.exactOptional(s.boolean),
  isBackground: s.boolean,
  isStream: s.boolean,
  pieces: s.exactOptional(s.number),
  /** Compressed bodies in base64; absent if they are in the body store. */
  input: s.exactOptional(s.string),
  response: s.exactOptional(s.string),
});
type StoredItem = s.Infer<typeof StoredItem>;

/** What a removal takes. */
const PARTS = Object.keys(StoredItem.shape).filter(
  (name) => !['expiresAt', 'pieces'].includes(name),
);
/** Later than each lease: the owner of a response ends it at any time. */
const ANY_TIME = Number.MAX_SAFE_INTEGER;

/** Compressed bytes of one body that fit into an item of 400 KB, in base64 and next to a thousand ids. */
const MAX_BODY = 120_000;
/** Of an item that has nothing else. */
const MAX_PIECE = 290_000;

const pieceOf = (key: string, index: number): string => `${key}#${index}`;
const nameOf = (key: string, part: string | number): string => `responses/${key}/${part}`;

const parseItem = (item: Item | undefined, now: number): StoredItem | undefined => {
  const stored = s.readIfValid(StoredItem, item);
  return stored && stored.expiresAt > now ? stored : undefined;
};

type Options = TableOptions & { bodies?: BodyStore | undefined };

/**
 * `ResponseStore` on the answers table: an item for a response, and one for each piece of its stream. Each of its conditional
 * writes is a no-op when repeated:
 *
 *   create                                    it has ended
 *   create  renew  piece  renew  piece  end   in the background
 *   create  renew  †  lease over  end         its process died; the next reader ends it
 *   remove                                    no write above applies any more
 */
export const createDynamoResponseStore = ({ bodies, ...options }: Options): ResponseStore => {
  const table = createTable(options);
  /** The text for an item; undefined if the bytes are in the body store instead. */
  const put = async (name: string, bytes: Uint8Array, max: number, expiresAt?: number) => {
    if (!bodies || bytes.byteLength <= max) return Buffer.from(bytes).toString('base64');
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
    const { applied } = await table.apply(key, {
      set: {
        ...{ before, isBackground, isStream, leaseUntil, input, response },
        ...{ expiresAt, ...expiring(expiresAt) },
      },
      conditions: [['deleted', 'is absent']],
      returns: 'NONE',
    });
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
      await table.apply(pieceOf(key, index), {
        set: { deleted: true, [TTL_ATTRIBUTE]: ttl },
        remove: ['piece'],
        returns: 'NONE',
      });
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
      table.applies(key, {
        set: { leaseUntil, hasBegun: true, pieces },
        conditions: [['leaseUntil', 'is present']],
        returns: 'NONE',
      }),
    end: async ({ key, expiresAt }, bytes, { now, deadAt = ANY_TIME }) => {
      const name = nameOf(key, 'response');
      const response = await put(name, bytes, MAX_BODY, expiresAt);
      const { applied, mayBeDuplicated } = await table.apply(key, {
        set: { endedAt: now, response },
        remove: ['leaseUntil', ...(response === undefined ? ['response'] : [])],
        conditions: [['leaseUntil', '<=', deadAt]],
        returns: 'NONE',
      });
      // It was deleted, or cancelled, which leaves the small body of the item.
      if (!applied && !mayBeDuplicated && response === undefined) await bodies?.remove(name);
      return applied || mayBeDuplicated;
    },
    putPiece: async ({ key, expiresAt }, index, bytes) => {
      const name = nameOf(key, index);
      const piece = await put(name, bytes, MAX_PIECE, expiresAt);
      const { applied } = await table.apply(pieceOf(key, index), {
        set: { piece: piece ?? '', ...expiring(expiresAt) },
        conditions: [['deleted', 'is absent']],
        returns: 'NONE',
      });
      if (!applied && piece === undefined) await bodies?.remove(name);
    },
    findPiece: async (key, index) => {
      const item = await table.read(pieceOf(key, index));
      const piece = item?.piece;
      if (typeof piece !== 'string') return undefined;
      return read(nameOf(key, index), piece === '' ? undefined : piece);
    },
    remove: async (key) => {
      // The number of pieces stays until all is removed: a removal that failed is continued by its repeat.
      const { applied, item } = await table.apply(key, {
        set: { deleted: true },
        add: { pieces: 0 },
        remove: PARTS,
        conditions: [{ anyOf: [[['before', 'is present']], [['pieces', 'is present']]] }],
      });
      if (!applied || !item) return false;
      await removePieces(key, Number(item.pieces ?? 0), item[TTL_ATTRIBUTE]);
      await removeBodies(key);
      await table.apply(key, { remove: ['pieces'], returns: 'NONE' });
      return true;
    },
  };
};
