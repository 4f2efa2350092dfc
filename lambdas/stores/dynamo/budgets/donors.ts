import type { Hold } from '../../budget-store.ts';
import { pendingOf, type Share, sumOf } from './items.ts';
import type { Borrower } from './transfers.ts';

/** Of what a request needs: what an item with requests in flight has to have for those of another one. */
const PLENTY = 4;

/** Room for a lease of so many nanos. `isMovable`: another shard of the meter may have it as well. */
export type RoomQuery = {
  hold: Hold;
  borrower: Borrower;
  needed: number;
  now: number;
  /** Requests in flight for which an item has a place. */
  marksPerItem: number;
  isMovable?: boolean | undefined;
};

type Asker = RoomQuery & {
  standsBack: boolean;
  /** The item has had no request in flight for long, while others of it were refused. */
  hasWaited: boolean;
  /** Whether requests of the item were refused a moment ago. */
  isWanted(share: Share): boolean;
};

/** Whether another shard of the borrower's meter has room: the request can move there with fewer writes than dollars can here. */
const hasSibling = (shares: Share[], { borrower: { key }, needed, marksPerItem }: RoomQuery) => {
  const shards = key.slice(0, key.lastIndexOf('/') + 1);
  const isSibling = (share: Share) => share.key !== key && share.key.startsWith(shards);
  return (
    shards !== '' &&
    shares.some(
      (share) => isSibling(share) && share.inFlight < marksPerItem && share.room >= needed,
    )
  );
};

/**
 * Items whose room is taken back for another one; undefined if a request waits for what requests in flight return. A transfer
 * is three writes, so that it is made from one item with enough: while requests of both items are in flight, or wait, only if
 * that has plenty, as those behind them would move it back. With no request in flight all that is left is collected.
 */
export const donorsOf = (shares: Share[], query: Asker, lacking: number): Share[] | undefined => {
  const isBusy = ({ leased }: Share) => leased > 0;
  if (query.standsBack && shares.some(isBusy)) return undefined;
  if (lacking <= 0) return [];
  if (query.isMovable && hasSibling(shares, query)) return undefined;
  const { borrower, needed } = query;
  const isOwn = ({ key }: Share) => key === borrower.key;
  const others = shares.filter((share) => !isOwn(share));
  const isOwnBusy = shares.some((share) => isOwn(share) && isBusy(share));
  const needsPlenty = (share: Share) =>
    isOwnBusy ? isBusy(share) || query.isWanted(share) : query.isWanted(share) && !query.hasWaited;
  const donors = others.filter(
    (share) => share.room >= Math.max(lacking, needsPlenty(share) ? PLENTY * needed : 0),
  );
  if (donors.length > 0) return donors;
  const sum = sumOf(others, (share) => share.room + pendingOf(share));
  return shares.some(isBusy) || sum < lacking ? undefined : others;
};
