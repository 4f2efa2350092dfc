import type { MeterStore, ReservedUnit } from '../meter-store.ts';
import { bindForgotten, bindUnit } from './meter-bindings.ts';
import { committedName, staleMarksIn, tombstoneName } from './meter-item.ts';
import { REAP } from './meter-writes.ts';
import type { Table } from './table.ts';
import type { WriteLedger } from './write-ledger.ts';

/** A reaper's share of one request's time; the next one goes on. */
const MAX_REAPED = 25;

const createForget =
  (table: Table) =>
  async (meterId: string, names: string[]): Promise<void> => {
    if (names.length === 0) return;
    const bound = bindForgotten(names);
    const write = { update: `REMOVE ${Object.keys(bound).join(', ')}` };
    await table.apply(meterId, write, { names: bound });
  };

/** What a request that is over leaves behind is removed by `close`, or by the `reap` of a later one. */
export const createReapUnits = (
  table: Table,
  writes: WriteLedger,
): Pick<MeterStore, 'close' | 'reap'> => {
  const forget = createForget(table);
  return {
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
      const { abandoned, forgettable } = staleMarksIn(item, now);
      const reapOne = (unit: Omit<ReservedUnit, 'meterId'>) =>
        table.apply(meterId, REAP, bindUnit({ meterId, ...unit }));
      const reaped = await Promise.all(abandoned.slice(0, MAX_REAPED).map(reapOne));
      await forget(meterId, forgettable);
      return reaped.filter(({ applied }) => applied).length;
    },
  };
};
