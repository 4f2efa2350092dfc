import { sha256Of } from '../../support/bytes.ts';
import * as s from '../../support/schema.ts';
import type {
  AnswerClaim,
  AnswerEntry,
  AnswerStore,
  BodyStore,
  KeptAnswer,
} from '../answer-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import type { Item } from './dynamo-client.ts';
import { type Condition, expiring, type Write } from './item-write.ts';
import { createTable, type Table, type TableOptions } from './table.ts';

const StoredEntry = s.object({
  owner: s.string,
  requestId: s.string,
  route: s.string,
  model: s.string,
  bodyHash: s.string,
  startedAt: s.number,
  leaseUntil: s.number,
  expiresAt: s.number,
  /** Absent while the request runs. */
  kind: s.exactOptional(s.oneOf(['stream', 'whole'])),
  isEmpty: s.exactOptional(s.boolean),
  /** The compressed body in base64; absent if it is in the body store. */
  content: s.exactOptional(s.string),
  /** SHA-256 of a body in the body store, hex. */
  digest: s.exactOptional(s.string),
});
type StoredEntry = s.Infer<typeof StoredEntry>;

/**
 * The conditional writes of an entry. Each is a no-op when repeated:
 *
 *   claim  renew renew  finish                 kept until `expiresAt`
 *   claim  renew  release                      failed: the next claim succeeds
 *   claim  †  lease over  take over  finish    the owner's process died
 *   claim  finish  discard                     its body is damaged: the next claim succeeds
 */
const RUNNING: Condition = ['kind', 'is absent'];
const ownedBy = (owner: string): Condition => ['owner', '=', owner];
const lasting = (expiresAt: number) => ({ expiresAt, ...expiring(expiresAt) });

const ownership = ({ owner, requestId, startedAt, leaseUntil, now }: AnswerClaim) => ({
  ...{ owner, requestId, startedAt, leaseUntil },
  ...lasting(now + RUNNING_LIFE_MS),
});
const replacement = (claim: AnswerClaim): Write => {
  const { route, model, body: bodyHash } = claim.fingerprint;
  return {
    set: { ...ownership(claim), route, model, bodyHash },
    remove: ['kind', 'isEmpty', 'content', 'digest'],
  };
};

/** A running entry is claimed again by its lease; this only bounds how long a dead one is stored. */
const RUNNING_LIFE_MS = 3_600_000;

/** Compressed bytes that fit into an item of 400 KB, in base64 and next to the other attributes. */
const MAX_ITEM_BODY = 290_000;

/** What a removal takes of an entry, which has no `content`. */
const ENTRY = Object.keys(StoredEntry.shape).filter((name) => name !== 'content');

const bodyName = (id: string, owner: string): string => `${id}/${owner}`;

/** Undefined if the entry was released, is expired, or does not exist. */
const parseItem = (item: Item | undefined, now: number): StoredEntry | undefined => {
  const entry = s.readIfValid(StoredEntry, item);
  return entry && entry.expiresAt > now ? entry : undefined;
};

type ReadEntry = (
  id: string,
  item: Item | undefined,
  now: number,
) => Promise<AnswerEntry | undefined>;

const createReadEntry = (
  discard: AnswerStore['release'],
  bodies: BodyStore | undefined,
): ReadEntry => {
  /** Undefined if the body was deleted before its entry. A damaged one is unavailable, and its entry discarded. */
  const readElsewhere = async (
    id: string,
    { owner, digest }: StoredEntry,
    now: number,
  ): Promise<Pick<KeptAnswer, 'body'> | undefined> => {
    try {
      const body = await bodies?.get(bodyName(id, owner));
      if (!body || digest === undefined || sha256Of(body) === digest) return body && { body };
      // If this fails, the next read of the entry repeats it.
      await discard(id, owner, now);
      return { body: undefined };
    } catch (error) {
      if (error instanceof StoreUnavailable) return { body: undefined };
      throw error;
    }
  };
  const readAnswer = async (
    id: string,
    stored: StoredEntry,
    now: number,
  ): Promise<KeptAnswer | undefined> => {
    const { kind, content, isEmpty = false } = stored;
    const form = { isStream: kind === 'stream', isEmpty };
    if (content !== undefined) return { ...form, body: Buffer.from(content, 'base64') };
    const found = await readElsewhere(id, stored, now);
    return found && { ...form, ...found };
  };
  return async (id, item, now) => {
    const stored = parseItem(item, now);
    if (!stored) return undefined;
    const { owner, requestId, route, model, bodyHash, startedAt, leaseUntil, kind } = stored;
    const answer = kind && (await readAnswer(id, stored, now));
    // Without its body an entry is worth nothing: the request may run again.
    if (kind && !answer) return undefined;
    const fingerprint = { route, model, body: bodyHash };
    return { owner, requestId, fingerprint, startedAt, leaseUntil, answer };
  };
};

const createFinish =
  (table: Table, bodies: BodyStore | undefined): AnswerStore['finish'] =>
  async (id, owner, { isStream, isEmpty, body }, expiresAt) => {
    const fits = body.byteLength <= MAX_ITEM_BODY;
    if (!fits && !bodies) return false;
    if (!fits) await bodies?.put(bodyName(id, owner), body);
    return table.applies(id, {
      set: {
        ...{ kind: isStream ? 'stream' : 'whole', isEmpty, ...lasting(expiresAt) },
        ...(fits ? { content: Buffer.from(body).toString('base64') } : { digest: sha256Of(body) }),
      },
      remove: fits ? [] : ['content'],
      conditions: [ownedBy(owner)],
    });
  };

/**
 * `AnswerStore` on the answers table: one item per idempotency key. Bodies above the size of an item go to
 * `bodies`; without it they are not kept.
 */
export const createDynamoAnswerStore = ({
  bodies,
  ...options
}: TableOptions & { bodies?: BodyStore | undefined }): AnswerStore => {
  const table = createTable(options);
  const removing =
    (conditions: Condition[] = []): AnswerStore['release'] =>
    async (id, owner, now) => {
      await table.apply(id, {
        set: expiring(now),
        remove: ENTRY,
        conditions: [ownedBy(owner), ...conditions],
      });
    };
  const readEntry = createReadEntry(removing(), bodies);

  const replace = async (claim: AnswerClaim): Promise<void> => {
    await table.apply(claim.id, replacement(claim));
  };
  return {
    claim: async (claim) => {
      const { id, owner, now } = claim;
      const result = await table.apply(id, {
        ...replacement(claim),
        conditions: [{ anyOf: [[['owner', 'is absent']], [['expiresAt', '<=', now]]] }],
      });
      if (result.applied) return { isOwned: true };
      const entry = await readEntry(id, result.item ?? (await table.read(id)), now);
      // A repeat of a write whose response was lost finds its own claim.
      if (entry && entry.owner !== owner) return { isOwned: false, entry };
      if (!entry) await replace(claim);
      return { isOwned: true };
    },
    replace,
    takeOver: async (claim, dead) => {
      const { applied, item } = await table.apply(claim.id, {
        set: ownership(claim),
        conditions: [ownedBy(dead.owner), ['leaseUntil', '<=', claim.now], RUNNING],
      });
      return applied || item?.owner === claim.owner;
    },
    reassign: (id, owner, { requestId, startedAt }) =>
      table.applies(id, { set: { requestId, startedAt }, conditions: [ownedBy(owner), RUNNING] }),
    find: async (id, now) => readEntry(id, await table.read(id), now),
    renew: (id, owner, leaseUntil) =>
      table.applies(id, { set: { leaseUntil }, conditions: [ownedBy(owner), RUNNING] }),
    finish: createFinish(table, bodies),
    release: removing([RUNNING]),
  };
};
