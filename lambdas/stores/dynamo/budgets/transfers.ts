import type { Hold } from '../../budget-store.ts';
import { bindRemoved } from '../meter-writes.ts';
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
  /** Notes in the budget's item that an item has returned so much. */
  const takeBack = async (hold: Hold, { key, returned, taken }: Share): Promise<void> => {
    await table.apply(
      hold.budget,
      {
        update: 'SET #taken = :returned ADD #lent :less',
        condition: taken > 0 ? '#taken = :taken' : 'attribute_not_exists(#taken)',
      },
      {
        names: { '#taken': takenName(hold, key), '#lent': lentName(hold) },
        values: { ':returned': returned, ':taken': taken, ':less': taken - returned },
      },
    );
  };

  /** Gives an item what was granted to it, which a process that died has not. */
  const complete = async (hold: Hold, share: Share): Promise<void> => {
    const { key, received, granted } = share;
    await table.apply(
      key,
      {
        update: 'SET #received = :granted ADD #room :more',
        condition: received > 0 ? '#received = :received' : 'attribute_not_exists(#received)',
      },
      {
        names: { '#received': receivedName(hold), '#room': roomName(hold) },
        values: { ':granted': granted, ':received': received, ':more': pendingOf(share) },
      },
    );
  };

  /** Takes room out of an item; false if it has changed since. */
  const withdraw = async (hold: Hold, share: Share, amount: number): Promise<boolean> => {
    const { key, returned } = share;
    const { applied } = await table.apply(
      key,
      {
        update: 'SET #returned = :after ADD #room :less',
        condition: `#room >= :amount AND ${returned > 0 ? '#returned = :returned' : 'attribute_not_exists(#returned)'}`,
      },
      {
        names: { '#returned': returnedName(hold), '#room': roomName(hold) },
        values: {
          ':after': returned + amount,
          ':less': -amount,
          ':amount': amount,
          ':returned': returned,
        },
      },
    );
    // What an earlier copy has withdrawn is seen when the item is read again.
    return applied;
  };

  /** Grants an item so much, on condition that the budget has it, with what others have returned. */
  const grant = async (
    hold: Hold,
    share: Share,
    { amount, max, past, returning }: GrantParts,
  ): Promise<WriteResult> => {
    const removed = bindRemoved(past);
    const removal = past.length > 0 ? ` REMOVE ${Object.keys(removed).join(', ')}` : '';
    const { granted } = share;
    const names: Record<string, string> = { '#granted': grantedName(hold, share.key) };
    const values: Record<string, number> = { ':granted': granted, ':after': granted + amount };
    const sets = ['#granted = :after'];
    const conditions = [granted > 0 ? '#granted = :granted' : 'attribute_not_exists(#granted)'];
    for (const [index, { key, returned, taken }] of returning.entries()) {
      names[`#taken${index}`] = takenName(hold, key);
      values[`:returned${index}`] = returned;
      values[`:taken${index}`] = taken;
      sets.push(`#taken${index} = :returned${index}`);
      conditions.push(
        taken > 0 ? `#taken${index} = :taken${index}` : `attribute_not_exists(#taken${index})`,
      );
    }
    const more = amount - returnedBy(returning);
    return table.apply(
      hold.budget,
      {
        update: `SET ${sets.join(', ')} ADD #lent :more${removal}`,
        condition: [
          '#max = :max',
          '(attribute_not_exists(#lent) OR #lent <= :least)',
          ...conditions,
        ].join(' AND '),
      },
      {
        names: { ...names, '#lent': lentName(hold), '#max': MAX, ...removed },
        values: { ...values, ':more': more, ':max': max, ':least': max - more },
      },
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
      if (share.returned > share.taken) await takeBack(hold, share);
      if (pendingOf(share) > 0) await complete(hold, share);
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
