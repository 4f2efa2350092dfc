import { createLruCache } from '../../../support/memo.ts';
import type { BudgetRefusal, BudgetView, Hold } from '../../budget-store.ts';
import { numberIn } from '../meter-item.ts';
import type { Item, Table } from '../table.ts';
import { donorsOf, type RoomQuery } from './donors.ts';
import {
  borrowersIn,
  grantedName,
  lentName,
  limitIn,
  pastNamesIn,
  pendingOf,
  receivedName,
  returnedBy,
  roomName,
  type Share,
  shareOf,
  spentOf,
  sumOf,
} from './items.ts';
import { createTransfers } from './transfers.ts';
import type { Grant } from './writes.ts';

/** Attempts while other processes change the same budget; then the request is denied as if their leases were in the way. */
const MAX_TRIES = 12;
/** Requests for which a grant lasts, far from the limit. */
const LEASES_A_GRANT = 64;
/** Of what is left: grants shrink near the limit, and leave other meters some. */
const SHARE_OF_REST = 4;
/** The same where no other meter has used the budget yet: most budgets have one key. */
const SHARE_OF_ONE = 2;
/** Leases that a budget has not lent, from which on it is granted by what this process saw of it last. */
const NEAR = 20;
/** Taken back in one write, whose expression is bounded. */
const MAX_RETURNS = 20;
/** While leases are in flight, a process looks for no dollars so long after another one took them first: the next write would fail, too. */
const STAND_BACK_MS = 1_000;
/** While the callers that an item has refused repeat their requests, they use the dollars that return to it without a write. */
const WANTED_FOR_MS = 10_000;
const MAX_BUDGETS = 1_000;
const MAX_ITEMS = 10_000;
/** For what callers are shown. A grant is made by what the budget's item has. */
const SEEN_FOR_MS = 10_000;

/** `item`: has received a grant since. `gone`: the budget was deleted, and limits no request any more. */
export type Room =
  | { grant: Grant }
  | { item: Item | undefined }
  | { refusal: BudgetRefusal }
  | 'gone';

/** What an item lacks for a lease, and what the budget has not lent. */
type Lack = { own: Share; max: number; lacking: number; free: number };

/** What a budget has not lent. */
const freeOf = (root: Item | undefined, hold: Hold): number =>
  (limitIn(root)?.max ?? 0) - numberIn(root, lentName(hold));

/** Finds room for leases that the item of a meter has no room for. */
export const createBudgetBank = (table: Table, onShare: (share: Share) => void) => {
  const { grant, recall, finish, readShares } = createTransfers(table);
  /** Items of budgets as this process saw them last, and when. */
  const roots = createLruCache<{ root: Item | undefined; seenAt: number }>(MAX_BUDGETS);

  /** When another process was faster. */
  const overtakenAt = createLruCache<number>(MAX_BUDGETS);
  /** By budget and item: the last refusal, and the first since a request of the item was in flight. */
  const refusals = createLruCache<{ at: number; since: number }>(MAX_ITEMS);

  const read = async (budget: string, now: number): Promise<Item | undefined> => {
    const root = await table.read(budget);
    roots.set(budget, { root, seenAt: now });
    return root;
  };

  /** Grants the item a part of the budget's rest; undefined: the budget has changed, and is to be looked at again. */
  const lend = async (
    root: Item,
    { hold, needed, now }: RoomQuery,
    { own, max, lacking, free }: Lack,
    returning: Share[] = [],
  ): Promise<Room | undefined> => {
    const rest = free + returnedBy(returning);
    if (rest < lacking) return undefined;
    const hasOthers = borrowersIn(root, hold).some((key) => key !== own.key);
    const part = Math.floor(rest / (hasOthers ? SHARE_OF_REST : SHARE_OF_ONE));
    const most = Math.min(needed * LEASES_A_GRANT, part);
    const amount = Math.max(lacking, Math.min(needed, rest), most);
    const past = own.granted === 0 ? pastNamesIn(root, now) : [];
    const { applied, item } = await grant(hold, own, { amount, max, past, returning });
    if (!applied || !item) return undefined;
    roots.set(hold.budget, { root: item, seenAt: now });
    return { grant: { seen: own.received, to: own.granted + amount } };
  };

  /** Lends what items have returned, and what is taken back from donors; undefined: another process was faster. */
  const draw = async (
    root: Item,
    query: RoomQuery,
    lack: Lack,
    { shares, donors, lacking }: { shares: Share[]; donors: Share[]; lacking: number },
  ): Promise<Room | undefined> => {
    const { hold, now } = query;
    const drawn = await recall(donors, hold, lacking);
    const returning = shares
      .map((share) => drawn.find(({ key }) => key === share.key) ?? share)
      .filter(({ returned, taken }) => returned > taken);
    const room = await lend(root, query, lack, returning.slice(0, MAX_RETURNS));
    if (room) return room;
    overtakenAt.set(hold.budget, now);
    // What one write does not take back, and what was granted to items whose processes died.
    const granted = drawn.length > 0 ? [] : donors;
    await finish(hold, [...returning.slice(MAX_RETURNS), ...granted]);
    return undefined;
  };

  /** Which items refused requests that are repeated, and since when the borrower's were with none of it in flight. */
  const waitsOf = ({ hold, now }: RoomQuery, own: Share) => {
    const lastOf = ({ key }: Share) => refusals.get(`${hold.budget}|${key}`);
    const isWanted = (share: Share) => now - (lastOf(share)?.at ?? 0) < WANTED_FOR_MS;
    const isIdle = own.leased === 0 && isWanted(own);
    const since = (isIdle && lastOf(own)?.since) || now;
    return { isWanted, since, hasWaited: now - since >= WANTED_FOR_MS };
  };

  /** Looks for room in other items; undefined: there was some. */
  const search = async (root: Item, query: RoomQuery, lack: Lack): Promise<Room | undefined> => {
    const { hold, borrower, needed, now } = query;
    const { max } = lack;
    const shares = await readShares(root, hold, borrower);
    for (const share of shares) onShare(share);
    const spent = sumOf(shares, spentOf);
    const refusal = (kind: BudgetRefusal['kind']) => ({
      refusal: { kind, hold, max, spent, needed },
    });
    if (needed > max) return refusal('too-small');
    const lacking = lack.lacking - lack.free - returnedBy(shares);
    const wasOvertakenAt = overtakenAt.get(hold.budget);
    const standsBack = wasOvertakenAt !== undefined && now - wasOvertakenAt < STAND_BACK_MS;
    const waits = waitsOf(query, lack.own);
    const donors = donorsOf(shares, { ...query, standsBack, ...waits }, lacking);
    if (!donors) {
      refusals.set(`${hold.budget}|${borrower.key}`, { at: now, since: waits.since });
      return refusal(spent > max - needed ? 'spent' : 'in-flight');
    }
    return draw(root, query, lack, { shares, donors, lacking });
  };

  /** A grant of another process, which most likely receives it now: a write that did so, too, would fail. */
  const receive = async (
    { hold, borrower: { key } }: RoomQuery,
    { received, granted }: Share,
  ): Promise<Room> => {
    const item = await table.read(key);
    const isPast = numberIn(item, receivedName(hold)) !== received;
    return isPast ? { item } : { grant: { seen: received, to: granted } };
  };

  /** One attempt; undefined: the budget has changed, and is to be looked at again. */
  const attempt = async (
    root: Item,
    query: RoomQuery,
    isFresh: boolean,
  ): Promise<Room | undefined> => {
    const { hold, borrower, needed } = query;
    const limit = limitIn(root);
    if (!limit) return 'gone';
    const { max, period } = limit;
    // The key was read before the period of its budget was changed.
    if (period !== hold.period) {
      return { refusal: { kind: 'in-flight', hold, max, spent: 0, needed } };
    }
    const own = shareOf(root, hold, borrower);
    const pending = pendingOf(own);
    // An item that has received more was granted more since.
    if (pending < 0) return undefined;
    const lacking = needed - own.room - pending;
    if (pending > 0 && lacking <= 0) return receive(query, own);
    const free = freeOf(root, hold);
    const lack = { own, max, lacking, free };
    if (free >= lacking) return lend(root, query, lack);
    return isFresh ? search(root, query, lack) : undefined;
  };

  const isFar = (hold: Hold, nanos: number): boolean =>
    freeOf(roots.get(hold.budget)?.root, hold) >= NEAR * nanos;

  return {
    /** Whether a budget may have lent the item nothing: it had not when this process saw it last, if ever. */
    isUnlent: (hold: Hold, key: string): boolean => {
      const root = roots.get(hold.budget)?.root;
      return root === undefined || numberIn(root, grantedName(hold, key)) === 0;
    },
    /** Whether a budget had 20 times as much left when this process saw it last. */
    isFar,
    /** Room for a lease of `needed` nanos in the item of a meter, or why there is none. */
    makeRoom: async (query: RoomQuery): Promise<Room> => {
      const { hold, needed, now } = query;
      const isRoomy = isFar(hold, needed);
      let root = isRoomy ? roots.get(hold.budget)?.root : await read(hold.budget, now);
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        if (!root) return 'gone';
        const room = await attempt(root, query, !isRoomy || tries > 0);
        if (room !== undefined) return room;
        root = await read(hold.budget, now);
      }
      const max = limitIn(root)?.max ?? 0;
      return { refusal: { kind: 'in-flight', hold, max, spent: 0, needed } };
    },
    /** Reads a budget that this process has not seen for a while. */
    refresh: async ({ budget }: Hold, now: number): Promise<void> => {
      const known = roots.get(budget);
      if (!known || now - known.seenAt >= SEEN_FOR_MS) await read(budget, now);
    },
    /** What is left of a budget: of what it has not lent, and in an item of a meter. */
    viewOf: (hold: Hold, item: Item | undefined): BudgetView | undefined => {
      const root = roots.get(hold.budget)?.root;
      const limit = limitIn(root);
      if (!limit) return undefined;
      const left = limit.max - numberIn(root, lentName(hold)) + numberIn(item, roomName(hold));
      return { hold, max: limit.max, left };
    },
  };
};
