import type { Hold } from '../../budget-store.ts';
import { bindRemoved } from '../meter-writes.ts';
import type { Item, Table } from '../table.ts';
import {
  borrowersIn,
  grantedName,
  lentName,
  MAX,
  pendingOf,
  receivedName,
  returnedName,
  roomName,
  type Share,
  shareOf,
  takenName,
} from './items.ts';

/** The item of a meter, as it was when a lease found no room in it. */
export type Borrower = { key: string; item: Item | undefined };

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
    const { applied, mayBeDuplicated } = await table.apply(
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
    // What an earlier copy has withdrawn is taken back when the item is read again.
    if (applied) await takeBack(hold, { ...share, returned: returned + amount });
    return applied || mayBeDuplicated;
  };

  /** Grants an item so much, on condition that the budget has it. */
  const grant = async (
    hold: Hold,
    share: Share,
    { amount, max, past }: { amount: number; max: number; past: string[] },
  ) => {
    const removed = bindRemoved(past);
    const removal = past.length > 0 ? ` REMOVE ${Object.keys(removed).join(', ')}` : '';
    const { granted } = share;
    return table.apply(
      hold.budget,
      {
        update: `SET #granted = :after ADD #lent :amount${removal}`,
        condition: [
          '#max = :max',
          '(attribute_not_exists(#lent) OR #lent <= :least)',
          granted > 0 ? '#granted = :granted' : 'attribute_not_exists(#granted)',
        ].join(' AND '),
      },
      {
        names: {
          '#granted': grantedName(hold, share.key),
          '#lent': lentName(hold),
          '#max': MAX,
          ...removed,
        },
        values: {
          ':after': granted + amount,
          ':granted': granted,
          ':amount': amount,
          ':max': max,
          ':least': max - amount,
        },
      },
    );
  };

  /** Reads the items that a budget has lent to, and completes what processes that died have begun. */
  const readShares = async (root: Item, hold: Hold, own?: Borrower): Promise<Share[]> => {
    const read = async (key: string): Promise<Share> =>
      shareOf(root, hold, key === own?.key ? own : { key, item: await table.read(key) });
    const shares = await Promise.all(borrowersIn(root, hold).map(read));
    for (const share of shares) {
      if (share.returned > share.taken) await takeBack(hold, share);
      if (share.key !== own?.key && pendingOf(share) > 0) await complete(hold, share);
    }
    return shares;
  };

  /** Takes what items do not use; whether any of it is free now. */
  const recall = async (shares: Share[], hold: Hold, lacking: number): Promise<boolean> => {
    let freed = 0;
    for (const share of shares.toSorted((one, other) => other.room - one.room)) {
      if (freed >= lacking) break;
      const amount = Math.min(share.room, Math.max(lacking - freed, Math.floor(share.room / 2)));
      if (amount > 0 && (await withdraw(hold, share, amount))) freed += amount;
    }
    return freed > 0;
  };

  return { grant, recall, readShares };
};
