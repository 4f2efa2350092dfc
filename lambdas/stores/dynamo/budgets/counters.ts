import { DAY_MS, MINUTE_MS } from '../../../support/clock.ts';
import { createLruCache } from '../../../support/memo.ts';
import { TTL_ATTRIBUTE } from '../../../tables.ts';
import {
  type BudgetLimit,
  type BudgetRefusal,
  type BudgetView,
  type Counter,
  type Hold,
  labelAt,
} from '../../budget-store.ts';
import { StoreUnavailable } from '../../store-unavailable.ts';
import { asSeen, type Condition, expiring, type Write } from '../item-write.ts';
import { numberIn } from '../meter-item.ts';
import type { Item, Table, WriteResult } from '../table.ts';
import { countedIn, isOpen, MARK, markAfter, nanosIn, pastIn } from './counter-items.ts';
import { lentName, limitIn, MAX, PERIOD } from './items.ts';

/** Attempts while other requests change the same item. */
export const MAX_TRIES = 16;
/** How long a process believes that a user or a session has no separate budget. */
const ABSENT_FOR_MS = 10_000;
const MAX_KNOWN = 10_000;
/** Longer than the longest period. */
const LIFE_MS = 40 * DAY_MS;

export type Leaser = { requestId: string; minute: number; isRepeat?: boolean | undefined };

/** A change of a mark, and of what is leased by so much. */
type Move = { before: string | undefined; nanos: number; diff: number };
type Attempt = { limit: BudgetLimit; hold: Hold; after: string; now: number; move: Move };

const refusalOf = (
  item: Item | undefined,
  { hold, limit: { max }, now, move: { diff: needed } }: Attempt,
): BudgetRefusal => {
  const { spent } = countedIn(item, hold, now);
  const kind = needed > max ? 'too-small' : spent > max - needed ? 'spent' : 'in-flight';
  return { kind, hold, max, spent, needed };
};

/** A lease. An operator's limit has no end, and neither has what counts for ever. */
const writeOf = (name: string, attempt: Attempt, isOwn: boolean): Write => {
  const { limit, hold, after, now, move } = attempt;
  const { before, diff } = move;
  const isEndless = isOwn || limit.period === 'total' || hold.period === 'total';
  const hasRoom: Condition = [lentName(hold), '<= or absent', limit.max - diff];
  const limits: Condition[] = isOwn
    ? [
        [MAX, '=', limit.max],
        [PERIOD, '=', limit.period],
      ]
    : [[MAX, 'is absent']];
  return {
    set: {
      [name]: after,
      // What is returned may follow an operator's limit, which has no end.
      ...(!isEndless && diff > 0 && expiring(now + LIFE_MS)),
    },
    // Of a period that it had before.
    remove: isEndless ? [TTL_ATTRIBUTE] : [],
    add: { [lentName(hold)]: diff },
    conditions: [asSeen(name, before), ...(diff > 0 ? [hasRoom, ...limits] : [])],
  };
};

const DENIED: WriteResult = { applied: false, item: undefined, mayBeDuplicated: false };

export const createCounters = (table: Table) => {
  /** Own limits as this process saw them last. */
  const limits = createLruCache<{ own: BudgetLimit | undefined; seenAt: number }>(MAX_KNOWN);

  const look = (budget: string, item: Item | undefined, now: number): BudgetLimit | undefined => {
    const own = limitIn(item);
    limits.set(budget, { own, seenAt: now });
    return own;
  };

  /** The limit to try; each write has the condition that it still applies. */
  const expectedLimit = async ({ budget, fallback }: Counter, now: number) => {
    const known = limits.get(budget);
    if (known?.own || fallback) return known?.own ?? fallback;
    if (known && now - known.seenAt < ABSENT_FOR_MS) return undefined;
    return look(budget, await table.read(budget), now);
  };

  const send = async (counter: Counter, name: string, attempt: Attempt): Promise<WriteResult> => {
    const { limit, move } = attempt;
    // A condition cannot tell an absent count from one that is too high.
    if (move.diff > limit.max) return DENIED;
    const wasUncertain = counter.isUncertain;
    counter.isUncertain = true;
    const write = writeOf(name, attempt, limit !== counter.fallback);
    const result = await table.apply(counter.budget, write);
    counter.isUncertain = wasUncertain || result.mayBeDuplicated;
    return result;
  };

  /** What follows from a write that was not applied: a refusal, or what to try next. */
  const next = (
    counter: Counter,
    attempt: Attempt,
    { item, mark }: { item: Item | undefined; mark: unknown },
  ): BudgetRefusal | Move => {
    const { limit, move, now } = attempt;
    const { before, nanos, diff } = move;
    if (mark !== before) {
      if (!isOpen(mark)) return refusalOf(item, attempt);
      // What an earlier process has leased for the request stays spent.
      return { before: mark, nanos, diff: before === undefined ? nanos : nanos - nanosIn(mark) };
    }
    const current = look(counter.budget, item, now) ?? counter.fallback;
    const isKnown = current?.max === limit.max && current.period === limit.period;
    const isDenied = diff > 0 && numberIn(item, lentName(attempt.hold)) > limit.max - diff;
    return isKnown && isDenied ? refusalOf(item, attempt) : move;
  };

  /** One write with the limit that is expected; undefined: there is no budget. */
  const attempt = async (
    counter: Counter,
    { requestId, minute, isRepeat }: Leaser,
    move: Move,
    now: number,
  ) => {
    const { budget } = counter;
    const limit = await expectedLimit(counter, now);
    if (!limit) return undefined;
    const { period } = limit;
    // Until something is leased, an operator may give it another period.
    if (counter.mark === undefined) {
      counter.hold = { budget, period, label: labelAt(period, minute * MINUTE_MS) };
    }
    const { hold } = counter;
    if (!hold) return undefined;
    const name = MARK + requestId;
    const tried = { limit, hold, after: markAfter(move.before, minute, move.nanos), now, move };
    const { applied, mayBeDuplicated, ...result } = await send(counter, name, tried);
    const item = result.item ?? (await table.read(budget));
    const mark = item?.[name];
    const isOwn = applied || (mark === tried.after && (mayBeDuplicated || !isRepeat));
    if (!isOwn) return next(counter, tried, { item, mark });
    if (counter.mark === undefined) counter.past = pastIn(item, now);
    counter.mark = tried.after;
    return { hold, max: limit.max, left: limit.max - numberIn(item, lentName(hold)) };
  };

  /** Leases so many nanos in all; undefined: there is no budget. */
  const lease = async (
    counter: Counter,
    leaser: Leaser,
    { to, now }: { to: number; now: number },
  ): Promise<BudgetRefusal | BudgetView | undefined> => {
    const { mark: before } = counter;
    let move: Move = { before, nanos: to, diff: to - nanosIn(before) };
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const found = await attempt(counter, leaser, move, now);
      if (!found || 'hold' in found) return found;
      move = found;
    }
    throw new StoreUnavailable('The budget changed faster than it could be read.');
  };

  return { lease };
};
