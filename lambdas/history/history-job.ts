import type { HistoryProgress, HistoryStore } from '../stores/history-store.ts';
import type { KeyStore } from '../stores/key-store.ts';
import type { MeterStore } from '../stores/meter-store.ts';
import type { Project, ProjectStore } from '../stores/project-store.ts';
import type { RecordStore } from '../stores/record-store.ts';
import { forEachAlone } from '../support/async-lists.ts';
import type { Clock } from '../support/clock.ts';
import { DAY_MS, dayOf, daysBetween, HOUR_MS, monthsBetween } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import {
  closePeriods,
  compareMonth,
  correct,
  type Reconciled,
  type Share,
} from './close-periods.ts';
import { foldDay } from './fold-day.ts';

/** A record is written at most 15 minutes (an invocation) and a write's 15 after its start; clocks differ by less than the rest. */
const SETTLED_MS = HOUR_MS;
/** A day is closed from all its records, so that hours are ample. */
const LATE_MS = 3 * HOUR_MS;
/** Where a project has no history yet: days before that have no records. */
const FIRST_DAYS = 35;
/** A project has no record from before it was created, by clocks that differ by less. */
const BEFORE_CREATION_MS = 3 * DAY_MS;

/** Differences that a few killed processes explain are no alarm. */
const MIN_DIFFERENCE = 3;
const MAX_SHARE = 0.001;

/** In the place of an instant: all of the day is in its rows for good, but the days before and after it may not be. */
const FOLDED = Number.MAX_SAFE_INTEGER;
/** After every key. */
const ALL_KEYS = '~';
const WHOLE: Share = { after: '', isOver: () => false, isLate: () => false };

export type HistoryParts = {
  projects: Pick<ProjectStore, 'listProjects'>;
  keys: Pick<KeyStore, 'listKeys'>;
  meters: Pick<MeterStore, 'reap' | 'endedPeriods' | 'forgetPeriods'>;
  records: Pick<RecordStore, 'hasEntries' | 'readDay'>;
  history: HistoryStore;
  clock: Clock;
  log: Log;
  /**
   * The instant (ms) that all requests in flight began after, and all whose record is not written yet.
   * @default an hour ago
   */
  settledUntil?: (() => number) | undefined;
};

/** Safe to repeat, to run twice at once, and to kill. */
export type HistoryJob = {
  /** Adds the records since the last run to the rows of the open days of all projects. */
  fold(): Promise<void>;
  /**
   * Folds, closes periods and days that are over, and compares them with the meters; of all projects or of one.
   * @throws the first failure, after all projects: one that fails stops no other
   */
  run(projectId?: string): Promise<void>;
  /**
   * The same of one project, as far as there is time.
   * @returns its closed periods, or where the next part continues
   * @throws DayTooLong if a single day takes longer
   */
  reconcile(projectId: string, share: Share): Promise<{ reconciled: Reconciled[]; next?: string }>;
};

/** The days that may still change: those after the closed one. */
const openDays = ({ closedDay }: Pick<HistoryProgress, 'closedDay'>, now: number): string[] =>
  daysBetween(dayOf(Date.parse(closedDay) + DAY_MS), dayOf(now));

/** Of a project that has no history yet. */
const firstProgress = ({ createdAt }: Project, now: number): Omit<HistoryProgress, 'foldedAt'> => {
  const first = Math.max(now - FIRST_DAYS * DAY_MS, Math.min(now, createdAt) - BEFORE_CREATION_MS);
  return { closedDay: dayOf(first - DAY_MS), settled: {} };
};

/** Units of closed periods, and those by which they differ more than when they were last compared. */
const newDifferenceOf = (all: Reconciled[]): { units: number; difference: number } => {
  let [units, difference] = [0, 0];
  for (const { used, recorded, corrected } of all) {
    units += used;
    difference += Math.max(0, Math.abs(used - recorded) - Math.abs(corrected));
  }
  return { units, difference };
};

type Fold = Pick<Share, 'isOver' | 'isLate'> & {
  project: Project;
  /** Days until this one are folded for good. @default none of those that are open */
  closedUntil?: string;
  now: number;
};

/** Folds the open days of a project until it is over. Returns them, and the progress to be stored. */
const foldDays = async (
  parts: HistoryParts,
  { project, closedUntil, now, isOver, isLate }: Fold,
): Promise<{ days: string[]; next: HistoryProgress; isComplete: boolean }> => {
  const { clock, history, settledUntil = () => clock.now() - SETTLED_MS } = parts;
  // Before the records are read, and in whole seconds, as the ids of requests are.
  const until = Math.floor(settledUntil() / 1_000) * 1_000;
  const stored = await history.readProgress(project.id);
  const progress = stored ?? firstProgress(project, now);
  const { closedDay } = progress;
  const closing = closedUntil ?? closedDay;
  const days = openDays(progress, now);
  const settled = { ...progress.settled };
  const isLeft = (day: string) => settled[day] !== FOLDED;
  for (const [index, day] of days.filter(isLeft).entries()) {
    if (index > 0 && isOver()) {
      // Not as of now: days after this one are as they were.
      const foldedAt = (stored?.foldedAt ?? project.createdAt) + 1;
      return { days, next: { closedDay, foldedAt, settled }, isComplete: false };
    }
    const from = settled[day];
    const range = day <= closing ? {} : { from, settledUntil: until };
    await foldDay(parts, { projectId: project.id, day, ...range, isLate });
    settled[day] = day <= closing ? FOLDED : Math.max(until, from ?? until);
  }
  const open = Object.entries(settled).filter(([day]) => day > closing);
  const next = { closedDay: closing, foldedAt: now, settled: Object.fromEntries(open) };
  return { days, next, isComplete: true };
};

export const createHistoryJob = (parts: HistoryParts): HistoryJob => {
  const { projects, history, clock, log } = parts;

  const report = ({ id: projectId }: Project, reconciled: Reconciled[]): void => {
    const { units, difference } = newDifferenceOf(reconciled);
    if (difference < MIN_DIFFERENCE || difference <= units * MAX_SHARE) return;
    log.error('history_differs', { projectId, units, difference });
  };

  /** Returns undefined if there was no time for all days: the next part continues after those that are folded. */
  const compare = async (
    project: Project,
    { now, ...share }: Share & { now: number },
  ): Promise<Reconciled[] | undefined> => {
    const closedUntil = dayOf(now - LATE_MS - DAY_MS);
    const fold = { project, closedUntil, now, ...share };
    const { days, next, isComplete } = await foldDays(parts, fold);
    const reconciled: Reconciled[] = [];
    if (isComplete) {
      for (const month of monthsBetween(days[0] ?? dayOf(now), dayOf(now))) {
        reconciled.push(...(await compareMonth(parts, project.id, month)));
      }
      // Before the rows that correct it: what they hold is not reported again.
      report(project, reconciled);
      for (const period of reconciled) await correct(parts, period);
    }
    await history.putProgress(project.id, next);
    return isComplete ? reconciled : undefined;
  };

  const reconcile = async (
    project: Project,
    share: Share,
  ): Promise<{ reconciled: Reconciled[]; next?: string }> => {
    const now = clock.now();
    let next: string | undefined;
    let reconciled: Reconciled[] | undefined = [];
    const steps = [
      // Before the records: a unit that is settled in between has its record in the next run.
      async () => {
        if (share.after === ALL_KEYS) return;
        next = await closePeriods(parts, { projectId: project.id, now, ...share });
      },
      async () => {
        if (next === undefined) reconciled = await compare(project, { now, ...share });
      },
    ];
    await forEachAlone(steps, (step) => step());
    next ??= reconciled ? undefined : ALL_KEYS;
    return { reconciled: reconciled ?? [], ...(next !== undefined && { next }) };
  };

  /** Leaves days open: a run closes them, which compares them with the meters. */
  const foldProject = async (project: Project): Promise<void> => {
    const { next } = await foldDays(parts, { project, now: clock.now(), ...WHOLE });
    await history.putProgress(project.id, next);
  };

  return {
    fold: async () => {
      await forEachAlone(await projects.listProjects(), foldProject);
    },
    run: async (projectId) => {
      const wanted = (await projects.listProjects()).filter(
        ({ id }) => projectId === undefined || id === projectId,
      );
      await forEachAlone(wanted, async (project) => void (await reconcile(project, WHOLE)));
      if (projectId === undefined) log.info('history_folded', {});
    },
    reconcile: async (projectId, share) => {
      const project = (await projects.listProjects()).find(({ id }) => id === projectId);
      return project ? reconcile(project, share) : { reconciled: [] };
    },
  };
};
