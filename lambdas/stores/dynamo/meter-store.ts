import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { TTL_ATTRIBUTE } from '../../tables.ts';
import type { MeterStore } from '../meter-store.ts';
import { bindUnit } from './meter-bindings.ts';
import {
  committedName,
  hasStaleMarks,
  isKeyRefused,
  keyEndName,
  lastUsedName,
  numberIn,
} from './meter-item.ts';
import { countsIn } from './meter-outcome.ts';
import { COMMIT, COUNT_FREE, END_KEY } from './meter-writes.ts';
import { createReapUnits } from './reap-units.ts';
import { createRefundUnit } from './refund-unit.ts';
import { createReserveUnit } from './reserve-unit.ts';
import { createTable } from './table.ts';
import { createWriteLedger } from './write-ledger.ts';

const FREE_ITEM_LIFE_SECONDS = 3_600;

/** The meters table behind `MeterStore`; what each write promises is told in meter-writes.ts. */
export const createDynamoMeterStore = (deps: {
  client: DynamoDBDocumentClient;
  tableName: string;
}): MeterStore => {
  const table = createTable(deps);
  const writes = createWriteLedger(table);
  const refund = createRefundUnit(writes);
  const reserve = createReserveUnit({ table, writes, refund });

  return {
    reserve,
    refund,
    ...createReapUnits(table, writes),
    commit: async (unit) => {
      const { applied, item } = await writes.apply(unit, COMMIT, bindUnit(unit));
      if (applied) return true;
      const seen = item ?? (await table.read(unit.meterId));
      return seen !== undefined && committedName(unit.requestId) in seen;
    },
    readUsage: async (query) => {
      const item = await table.read(query.meterId);
      return {
        ...countsIn(item, query),
        keyRefused: isKeyRefused(item, query),
        lastUsedAt: numberIn(item, lastUsedName(query.keyId)) || undefined,
        leftovers: hasStaleMarks(item, query.now),
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
