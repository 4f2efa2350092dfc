import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { TTL_ATTRIBUTE } from '../../tables.ts';
import type { MeterStore, ReservedUnit } from '../meter-store.ts';
import { bindForgotten, bindUnit } from './meter-bindings.ts';
import {
  committedName,
  hasLeftovers,
  isKeyRefused,
  keyEndName,
  lastUsedName,
  leftoversIn,
  numberIn,
  tombstoneName,
} from './meter-item.ts';
import { countsIn } from './meter-outcome.ts';
import { COMMIT, COUNT_FREE, END_KEY, REAP } from './meter-writes.ts';
import { createRefundUnit } from './refund-unit.ts';
import { createReserveUnit } from './reserve-unit.ts';
import { createTable } from './table.ts';
import { createTracedWrites } from './traced-writes.ts';

/** A reaper's share of one request's time; the next one goes on. */
const MAX_REAPED = 25;
const FREE_ITEM_LIFE_SECONDS = 3_600;

/** The meters table behind `MeterStore`; what each write promises is told in meter-writes.ts. */
export const createDynamoMeterStore = (deps: {
  client: DynamoDBDocumentClient;
  tableName: string;
}): MeterStore => {
  const table = createTable(deps);
  const writes = createTracedWrites(table);
  const refund = createRefundUnit(writes);
  const reserve = createReserveUnit({ table, writes, refund });

  const forget = async (meterId: string, names: string[]): Promise<void> => {
    if (names.length === 0) return;
    const bound = bindForgotten(names);
    const write = { update: `REMOVE ${Object.keys(bound).join(', ')}` };
    await table.apply(meterId, write, { names: bound });
  };

  return {
    reserve,
    refund,
    commit: async (unit) => {
      const { applied, item } = await writes.apply(unit, COMMIT, bindUnit(unit));
      if (applied) return true;
      const seen = item ?? (await table.read(unit.meterId));
      return seen !== undefined && committedName(unit.requestId) in seen;
    },
    close: async (unit) => {
      const trace = writes.traceOf(unit.requestId);
      writes.end(unit.requestId);
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
      return reaped.filter(({ applied }) => applied).length;
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
      const { applied } = await table.apply(`${meterId}/free/${minute}`, COUNT_FREE, {
        names: { '#count': 'count', '#ttl': TTL_ATTRIBUTE },
        values: { ':one': 1, ':cap': cap, ':ttl': minute * 60 + FREE_ITEM_LIFE_SECONDS },
      });
      return applied;
    },
  };
};
