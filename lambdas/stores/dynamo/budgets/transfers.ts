import type { Hold } from '../../budget-store.ts';
import { counts, joined, type Write } from '../item-write.ts';
import type { Item, Table, WriteResult } from '../table.ts';
import {
  borrowersIn,
  grantedName,
  lentName,
  MAX,
  pendingOf,
  receivedName,
  returnedBy,
  returnedName,
  roomName,
  type Share,
  shareOf,
  takenName,
} from './items.ts';

/** The item of a meter, as it was when a lease found no room in it. */
export type Borrower = { key: string; item: Item | undefined };

type GrantParts = {
  amount: number;
  max: number;
  /** Counters of periods that are over, which the write removes. */
  past: string[];
  /** What has been returned and not been taken back yet. */
  returning: Share[];
};

/** Moves dollars between the item of a budget and the items of meters. Every write of it may be repeated. */
export const createTransfers = (table: Table) => {
  const apply = (key: string, write: Write) => table.apply(key, write);

  /** Notes in the budget's item that items have returned so much. */
  const takingBack = (hold: Hold, returning: Share[]): Write => ({
    set: Object.fromEntries(returning.map(({ key, returned }) => [takenName(hold, key), returned])),
    add: { [lentName(hold)]: -returnedBy(returning) },
    conditions: returning.map(({ key, taken }) => counts(takenName(hold, key), taken)),
  });

  /** Gives an item what was granted to it, which a process that died has not. */
  const completing = (hold: Hold, share: Share): Write => ({
    set: { [receivedName(hold)]: share.granted },
    add: { [roomName(hold)]: pendingOf(share) },
    conditions: [counts(receivedName(hold), share.received)],
  });

  /** Takes room out of an item; false if it has changed since. */
  const withdraw = async (hold: Hold, { key, returned }: Share, amount: number) => {
    const room = roomName(hold);
    const { applied } = await apply(key, {
      set: { [returnedName(hold)]: returned + amount },
      add: { [room]: -amount },
      conditions: [[room, '>=', amount], counts(returnedName(hold), returned)],
    });
    // What an earlier copy has withdrawn is seen when the item is read again.
    return applied;
  };

  /** Grants an item so much, on condition that the budget has it, with what others have returned. */
  const grant = (
    hold: Hold,
    { key, granted }: Share,
    { amount, max, past, returning }: GrantParts,
  ): Promise<WriteResult> => {
    const lent = lentName(hold);
    const least = max - amount + returnedBy(returning);
    return apply(
      hold.budget,
      joined(takingBack(hold, returning), {
        set: { [grantedName(hold, key)]: granted + amount },
        remove: past,
        add: { [lent]: amount },
        conditions: [
          [MAX, '=', max],
          [lent, '<= or absent', least],
          counts(grantedName(hold, key), granted),
        ],
      }),
    );
  };

  /** Reads the items that a budget has lent to. */
  const readShares = (root: Item, hold: Hold, own?: Borrower): Promise<Share[]> => {
    const read = async (key: string): Promise<Share> =>
      shareOf(root, hold, key === own?.key ? own : { key, item: await table.read(key) });
    return Promise.all(borrowersIn(root, hold).map(read));
  };

  /** Completes the returns that processes have begun, and for those that died the grants; only some may be needed. */
  const finish = async (hold: Hold, shares: Share[]): Promise<void> => {
    for (const share of shares) {
      if (share.returned > share.taken) await apply(hold.budget, takingBack(hold, [share]));
      if (pendingOf(share) > 0) await apply(share.key, completing(hold, share));
    }
  };

  /** Takes what items do not use; the shares that have returned more since. */
  const recall = async (shares: Share[], hold: Hold, lacking: number): Promise<Share[]> => {
    const drawn: Share[] = [];
    let freed = 0;
    for (const share of shares.toSorted((one, other) => other.room - one.room)) {
      if (freed >= lacking) break;
      const amount = Math.min(share.room, Math.max(lacking - freed, Math.floor(share.room / 2)));
      if (amount <= 0 || !(await withdraw(hold, share, amount))) continue;
      freed += amount;
      drawn.push({ ...share, returned: share.returned + amount });
    }
    return drawn;
  };

  return { grant, recall, finish, readShares };
};
