import type { HistoryStore, TotalMetrics } from '../stores/history-store.ts';
import type { RecordEntry } from '../stores/record-store.ts';
import { DAY_MS, dayOf } from '../support/clock.ts';
import type { Reconciled } from './close-periods.ts';
import { boundOf, type DayRange, isAnew } from './day-range.ts';
import { addEntry, addMetrics } from './metric-sums.ts';

export type MetricsFold = {
  add(entry: RecordEntry, part: Parameters<typeof addEntry>[2], time: number): void;
  /** Writes what has changed; false if another run has written since it was read. */
  write(): Promise<boolean>;
};

const CLOSED: MetricsFold = { add: () => undefined, write: async () => true };

/** Reads the metrics of a day before its entries are read, as its rows are (fold-day.ts). */
export const openMetrics = async (
  history: Pick<HistoryStore, 'findMetrics' | 'putMetrics'>,
  range: DayRange,
): Promise<MetricsFold> => {
  const { projectId, day, settledUntil } = range;
  const isClosing = settledUntil === undefined;
  const stored = await history.findMetrics(projectId, day);
  if (stored && stored.until === undefined && !isClosing) return CLOSED;
  const before = isAnew(range) ? undefined : structuredClone(stored);
  const { settled, until = Number.NEGATIVE_INFINITY } = before ?? { settled: {} };
  const bound = boundOf(range, stored?.until);
  const open = {};
  return {
    add: (entry, part, time) => {
      if (time < until) return;
      addEntry(time < bound ? settled : open, entry, part);
    },
    write: async () => {
      const next = {
        ...{ projectId, day, settled, open },
        until: isClosing ? undefined : bound,
        version: (stored?.version ?? 0) + 1,
      };
      const { version: _, ...before } = stored ?? { version: 0 };
      const { version: __, ...after } = next;
      if (JSON.stringify(before) === JSON.stringify(after)) return true;
      return history.putMetrics(next);
    },
  };
};

/** Days before the first total that may have metrics. */
const FIRST_DAYS = 35;

type Close = {
  projectId: string;
  /** The last closed day. */
  closedUntil: string;
  /** The closed periods of each month that was compared. */
  reconciled: readonly Reconciled[];
};

/** The days of a project that its total does not hold yet. */
export const daysAfter = (total: TotalMetrics | undefined, until: string) => ({
  from: dayOf(total ? Date.parse(total.through) + DAY_MS : Date.parse(until) - FIRST_DAYS * DAY_MS),
  to: until,
});

/** Adds the days that were closed to the total, in which each is once: another run that did so first wins. */
export const closeMetrics = async (
  history: Pick<HistoryStore, 'readMetrics' | 'findTotalMetrics' | 'putTotalMetrics'>,
  { projectId, closedUntil, reconciled }: Close,
): Promise<void> => {
  const stored = await history.findTotalMetrics(projectId);
  const sums = structuredClone(stored?.sums ?? {});
  const days = daysAfter(stored, closedUntil);
  if (days.from <= days.to) {
    for await (const page of history.readMetrics({ projectId, ...days })) {
      for (const { settled, open } of page) {
        addMetrics(sums, settled);
        addMetrics(sums, open);
      }
    }
  }
  const unrecorded = { ...stored?.unrecorded };
  for (const [month, periods] of Map.groupBy(reconciled, ({ period }) => period.slice(0, 7))) {
    unrecorded[month] = periods.reduce((sum, { used, recorded }) => sum + used - recorded, 0);
  }
  const through = stored && stored.through > closedUntil ? stored.through : closedUntil;
  const isSame = JSON.stringify(unrecorded) === JSON.stringify(stored?.unrecorded ?? {});
  if (isSame && stored?.through === through) return;
  const version = (stored?.version ?? 0) + 1;
  await history.putTotalMetrics({ projectId, through, sums, unrecorded, version });
};
