import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createLruCache } from '../../support/lru-cache.ts';
import { TTL_ATTRIBUTE } from '../../tables.ts';
import type { MeterStore, Reservation, ReservedUnit, ReserveResult } from '../meter-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import { bindReservation, bindUnit } from './meter-bindings.ts';
import {
  committedName,
  hasLeftovers,
  isKeyRefused,
  keyEndName,
  lastUsedName,
  leftoversIn,
  numberIn,
  outdatedCounters,
  tombstoneName,
} from './meter-item.ts';
import { countsIn, outcomeIn } from './meter-outcome.ts';
import {
  BURY,
  COMMIT,
  COUNT_FREE,
  END_KEY,
  MAX_FORGOTTEN,
  REAP,
  REFUND,
  RESERVE,
  refundAndForget,
} from './meter-steps.ts';
import { type Bindings, createTable, type Item, type Step, type StepResult } from './table.ts';

/** A refusal whose reason had gone by the time it was read is tried again, so that no label is guessed. */
const MAX_TRIES = 8;
/** Requests in flight in one process; one that was pushed out keeps its marks for the reaper. */
const MAX_TRACES = 10_000;
/** A reaper's share of one request's time; the next one goes on. */
const MAX_REAPED = 25;
const FREE_ITEM_LIFE_SECONDS = 3_600;

/** What this process knows of a request in flight. */
type Trace = {
  /** A write of it was sent more than once, so a copy may still land. */
  doubtful: boolean;
  /** Counters that it saw to have had their day. */
  outdated: string[];
  /** Its refund was asked for: whatever became of that, it is never to be admitted again. */
  isWithdrawn: boolean;
};

/** Placeholders for attributes to be removed along the way. */
const bindForgotten = (attributes: string[]): Record<string, string> =>
  Object.fromEntries(attributes.slice(0, MAX_FORGOTTEN).map((name, i) => [`#a${i}`, name]));

/** The meters table behind `MeterStore`; what each write promises is told in meter-steps.ts. */
export const createDynamoMeterStore = (deps: {
  client: DynamoDBDocumentClient;
  tableName: string;
}): MeterStore => {
  const table = createTable(deps);
  const traces = createLruCache<Trace>(MAX_TRACES);

  /** A write for one request. Whether it may be applied later again is remembered until `close`. */
  const apply = async (unit: ReservedUnit, step: Step, bind: Bindings): Promise<StepResult> => {
    const trace = traces.get(unit.requestId);
    const markDoubtful = () => {
      if (trace) trace.doubtful = true;
    };
    try {
      const result = await table.apply(unit.meterId, step, bind);
      if (result.doubtful) markDoubtful();
      return result;
    } catch (error) {
      markDoubtful();
      throw error;
    }
  };

  const refundForGood = async (unit: ReservedUnit, trace: Trace): Promise<void> => {
    const { names, values } = bindUnit(unit);
    const outdated = bindForgotten(trace.outdated);
    const step = refundAndForget(Object.keys(outdated));
    // Whether it held is all the same: if not, the unit was refunded or reaped before.
    await apply(unit, step, { names: { ...names, ...outdated }, values });
    trace.outdated = [];
  };

  const refund = async (unit: ReservedUnit): Promise<void> => {
    const trace = traces.get(unit.requestId);
    if (trace) trace.isWithdrawn = true;
    if (trace?.doubtful === false) return refundForGood(unit, trace);
    const bind = bindUnit(unit);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      if ((await apply(unit, REFUND, bind)).held) return;
      if ((await apply(unit, BURY, bind)).held) return;
      // A late copy of the reserve came between the two.
    }
    throw new StoreUnavailable('The refund was overtaken again and again.');
  };

  const tryReserve = async (reservation: Reservation): Promise<ReserveResult | undefined> => {
    const result = await apply(reservation, RESERVE, bindReservation(reservation));
    const item = result.item ?? (await table.read(reservation.meterId));
    const outcome = result.held ? 'admitted' : outcomeIn(item, reservation);
    if (!outcome) return undefined;
    const leftovers = hasLeftovers(item, reservation.now);
    if (outcome === 'admitted') {
      const trace = traces.get(reservation.requestId);
      if (trace && item) trace.outdated = outdatedCounters(item, reservation.now);
    }
    return { outcome, ...countsIn(item, reservation), leftovers };
  };

  /** A refusal that takes no write. */
  const refuse = async (
    reservation: Reservation,
    outcomeOf: (item: Item | undefined) => ReserveResult['outcome'],
  ): Promise<ReserveResult> => {
    const item = await table.read(reservation.meterId);
    return { outcome: outcomeOf(item), ...countsIn(item, reservation), leftovers: false };
  };

  const endRefused = async (unit: ReservedUnit): Promise<void> => {
    // A copy of the refused write may still be on its way, and find room.
    if (traces.get(unit.requestId)?.doubtful !== false) await refund(unit);
    traces.delete(unit.requestId);
  };

  const reserve = async (reservation: Reservation): Promise<ReserveResult> => {
    const { requestId, quota, rpm } = reservation;
    if (traces.get(requestId)?.isWithdrawn) return refuse(reservation, () => 'withdrawn');
    // A limit of zero cannot be told from a counter that is not there yet in a condition.
    if (quota < 1 || rpm < 1) {
      return refuse(reservation, (item) => outcomeIn(item, reservation) ?? 'rate-limited');
    }
    if (!traces.get(requestId)) {
      traces.set(requestId, { doubtful: false, outdated: [], isWithdrawn: false });
    }
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const result = await tryReserve(reservation);
      if (!result) continue;
      if (result.outcome !== 'admitted') await endRefused(reservation);
      return result;
    }
    throw new StoreUnavailable('The meter changed faster than it could be read.');
  };

  const forget = async (meterId: string, names: string[]): Promise<void> => {
    if (names.length === 0) return;
    const bound = bindForgotten(names);
    const step = { update: `REMOVE ${Object.keys(bound).join(', ')}` };
    await table.apply(meterId, step, { names: bound });
  };

  return {
    reserve,
    refund,
    commit: async (unit) => {
      const { held, item } = await apply(unit, COMMIT, bindUnit(unit));
      if (held) return true;
      const seen = item ?? (await table.read(unit.meterId));
      return seen !== undefined && committedName(unit.requestId) in seen;
    },
    close: async (unit) => {
      const trace = traces.get(unit.requestId);
      traces.delete(unit.requestId);
      const marks = [committedName(unit.requestId), tombstoneName(unit.requestId)];
      await forget(unit.meterId, [
        ...(trace?.doubtful === false && !trace.isWithdrawn ? marks : []),
        ...(trace?.outdated ?? []),
      ]);
    },
    reap: async (meterId, now) => {
      const item = await table.read(meterId);
      if (!item) return 0;
      const { abandoned, forgettable } = leftoversIn(item, now);
      const reapOne = (unit: Omit<ReservedUnit, 'meterId'>) =>
        table.apply(meterId, REAP, bindUnit({ meterId, ...unit }));
      const reaped = await Promise.all(abandoned.slice(0, MAX_REAPED).map(reapOne));
      await forget(meterId, forgettable);
      return reaped.filter(({ held }) => held).length;
    },
    standing: async (query) => {
      const item = await table.read(query.meterId);
      return {
        ...countsIn(item, query),
        keyRefused: isKeyRefused(item, query),
        lastUsedAt: numberIn(item, lastUsedName(query.keyId)) || undefined,
        leftovers: hasLeftovers(item, query.now),
      };
    },
    endKey: async (meterId, keyId, validUntil) => {
      await table.apply(meterId, END_KEY, {
        names: { '#keyEnd': keyEndName(keyId) },
        values: { ':end': validUntil },
      });
    },
    admitFree: async (meterId, minute, cap) => {
      if (cap < 1) return false;
      const { held } = await table.apply(`${meterId}/free/${minute}`, COUNT_FREE, {
        names: { '#count': 'count', '#ttl': TTL_ATTRIBUTE },
        values: { ':one': 1, ':cap': cap, ':ttl': minute * 60 + FREE_ITEM_LIFE_SECONDS },
      });
      return held;
    },
  };
};
