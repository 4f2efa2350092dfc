import type { HistoryProgress, HistoryStore } from '../stores/history-store.ts';
import type { KeyStore } from '../stores/key-store.ts';
import type { MeterStore } from '../stores/meter-store.ts';
import type { ProjectStore } from '../stores/project-store.ts';
import type { RecordStore } from '../stores/record-store.ts';
import type { Clock } from '../support/clock.ts';
import { DAY_MS, dayOf, daysBetween, monthsBetween } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { closePeriods, type Reconciled, reconcileMonth } from './close-periods.ts';
import { foldDay } from './fold-day.ts';

/** A record arrives at most 15 minutes (an invocation) and a write's 15 after its day; hours are ample. */
const LATE_MS = 3 * 3_600_000;
/** Where a project has no history yet. */
const FIRST_DAYS = 35;

/** Differences that a few killed processes explain are no alarm. */
const MIN_DIFFERENCE = 3;
const MAX_SHARE = 0.001;

export type HistoryParts = {
  projects: Pick<ProjectStore, 'listProjects'>;
  keys: Pick<KeyStore, 'listKeys'>;
  meters: Pick<MeterStore, 'reap' | 'endedPeriods' | 'forgetPeriods'>;
  records: Pick<RecordStore, 'readDay'>;
  history: HistoryStore;
  clock: Clock;
  log: Log;
};

/** Brings the history of all projects, or of one, up to date. Safe to repeat, to run twice at once, and to kill. */
export type HistoryJob = (projectId?: string) => Promise<Reconciled[]>;

/** The days that may still change, of a project whose history is at `progress`. */
const openDays = (progress: HistoryProgress | undefined, now: number): string[] => {
  const from = progress
    ? dayOf(Date.parse(progress.closedDay) + DAY_MS)
    : dayOf(now - FIRST_DAYS * DAY_MS);
  return daysBetween(from, dayOf(now));
};

const differenceOf = (all: Reconciled[]): { units: number; difference: number } => ({
  units: all.reduce((sum, { used }) => sum + used, 0),
  difference: all.reduce((sum, { used, recorded }) => sum + Math.abs(used - recorded), 0),
});

export const createHistoryJob = (parts: HistoryParts): HistoryJob => {
  const { projects, history, clock, log } = parts;

  const runFor = async (projectId: string): Promise<Reconciled[]> => {
    const now = clock.now();
    const days = openDays(await history.readProgress(projectId), now);
    // Before the records: a unit that is settled in between has its record in the next run.
    await closePeriods(parts, projectId, now);
    for (const day of days) await foldDay(parts, projectId, day);
    const reconciled: Reconciled[] = [];
    for (const month of monthsBetween(days[0] ?? dayOf(now), dayOf(now))) {
      reconciled.push(...(await reconcileMonth(parts, projectId, month)));
    }
    await history.putProgress(projectId, {
      closedDay: dayOf(now - LATE_MS - DAY_MS),
      foldedAt: now,
    });
    return reconciled;
  };

  return async (projectId) => {
    const ids =
      projectId === undefined ? (await projects.listProjects()).map(({ id }) => id) : [projectId];
    const all: Reconciled[] = [];
    for (const id of ids) all.push(...(await runFor(id)));
    const { units, difference } = differenceOf(all);
    const isLarge = difference >= MIN_DIFFERENCE && difference > units * MAX_SHARE;
    if (isLarge) log.error('history_differs', { units, difference });
    else log.info('history_folded', { units, difference });
    return all;
  };
};
