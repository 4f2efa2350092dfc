import { MINUTE_MS } from '../../../support/clock.ts';
import type { BudgetLimit, BudgetPeriod, Hold } from '../../budget-store.ts';
import { IN_FLIGHT, numberIn } from '../meter-item.ts';
import { leasedIn, marksIn } from '../meter-marks.ts';
import type { Item } from '../table.ts';

/**
 * Layout of budgets of dollars. A budget has an item, which lends its dollars to the items of the meters whose requests it
 * pays for, shards or not; those lease them to requests in the write that admits the request (all amounts in nanos):
 *
 *   budget `budget/project/team-a`                    item of a meter
 *     max, period   its limit                           $<hold>    room: what may be leased
 *     t<label>      lent to all, in a period            $+<hold>   received, ever
 *     g<label>|<m>  granted to the item m, ever         $-<hold>   returned, ever
 *     k<label>|<m>  taken back from it, ever            m<request> mark; `.` and the lease of the request follow
 *
 *   received <= granted,   taken back <= returned,   t = sum of granted - taken back <= max at each grant,
 *   received - returned = room + leases of open marks + spent
 *
 * The last line holds after every write, because a mark and the room that it was leased from are in one item. What is granted
 * and returned only grows, so that a repeated or late copy of a transfer changes nothing, and any process may complete the
 * transfer of one that died between its two writes. `<hold>` is the first letter of the budget's scope and the label.
 */
export const MAX = 'max';
export const PERIOD = 'period';

/** The limit in the item of a budget; undefined if there is none, or it was deleted. */
export const limitIn = (root: Item | undefined): BudgetLimit | undefined => {
  const max = root?.[MAX];
  return typeof max === 'number' ? { max, period: root?.[PERIOD] as BudgetPeriod } : undefined;
};

const holdName = ({ budget, label }: Hold): string => `${budget.split('/')[1]?.[0]}${label}`;
export const roomName = (hold: Hold): string => `$${holdName(hold)}`;
export const receivedName = (hold: Hold): string => `$+${holdName(hold)}`;
export const returnedName = (hold: Hold): string => `$-${holdName(hold)}`;
export const lentName = ({ label }: Pick<Hold, 'label'>): string => `t${label}`;
export const grantedName = ({ label }: Pick<Hold, 'label'>, key: string): string =>
  `g${label}|${key}`;
export const takenName = ({ label }: Pick<Hold, 'label'>, key: string): string =>
  `k${label}|${key}`;

/** What a meter's item has of a budget. */
export type Share = {
  key: string;
  room: number;
  received: number;
  returned: number;
  /** Leases of its requests in flight. */
  leased: number;
  inFlight: number;
  /** Of the item of the budget. */
  granted: number;
  taken: number;
};

/** Leases of the open marks that belong to the period of a hold. */
const openLeasesIn = (item: Item | undefined, { period, label }: Hold): number => {
  let sum = 0;
  for (const { isOpen, value, minute } of marksIn(item)) {
    const nanos = isOpen ? leasedIn(value) : 0;
    if (nanos > 0 && (period === 'total' || labelOf(minute, label.length) === label)) sum += nanos;
  }
  return sum;
};

const labelOf = (minute: number, length: number): string =>
  new Date(minute * MINUTE_MS).toISOString().slice(0, length);

export const shareOf = (
  root: Item | undefined,
  hold: Hold,
  { key, item }: { key: string; item: Item | undefined },
): Share => ({
  key,
  room: numberIn(item, roomName(hold)),
  received: numberIn(item, receivedName(hold)),
  returned: numberIn(item, returnedName(hold)),
  leased: openLeasesIn(item, hold),
  inFlight: numberIn(item, IN_FLIGHT),
  granted: numberIn(root, grantedName(hold, key)),
  taken: numberIn(root, takenName(hold, key)),
});

export const sumOf = (shares: readonly Share[], of: (share: Share) => number): number =>
  shares.reduce((sum, share) => sum + of(share), 0);

/** Granted, and not yet received. */
export const pendingOf = ({ granted, received }: Share): number => granted - received;

/** Returned, and not yet taken back. */
export const returnedBy = (shares: readonly Share[]): number =>
  sumOf(shares, ({ returned, taken }) => returned - taken);

/** Cost of the requests of an item that have ended. It only grows. */
export const spentOf = ({ received, returned, room, leased }: Share): number =>
  received - returned - room - leased;

/** Keys of the items that a budget has lent to in a period. */
export const borrowersIn = (root: Item, { label }: Hold): string[] => {
  const prefix = grantedName({ label }, '');
  return Object.keys(root)
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length));
};

// --- periods that are over ---

const NAME = /^(?:\$[+-]?[a-z]|[tgk])(\d{4}-[\dT-]+)/;
/** Longer than a request, whose settlement is the last write of a period. */
export const KEPT_MS = 20 * 60_000;
const MAX_REMOVED = 40;

/** Names of counters of periods that ended a while ago. */
export const pastNamesIn = (item: Item | undefined, now: number): string[] =>
  Object.keys(item ?? {})
    .filter((name) => {
      const label = NAME.exec(name)?.[1];
      return (
        label !== undefined && new Date(now - KEPT_MS).toISOString().slice(0, label.length) > label
      );
    })
    .slice(0, MAX_REMOVED);
