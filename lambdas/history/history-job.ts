import type { KeyStore } from '../stores/key-store.ts';
import type { MeterStore } from '../stores/meter-store.ts';
import type { Project, ProjectStore } from '../stores/project-store.ts';
import { forEachAlone } from '../support/async-lists.ts';
import { DAY_MS, dayOf, HOUR_MS, monthsBetween } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { closePeriods, compareMonth, correct, type Reconciled } from './close-periods.ts';
import { type FoldParts, foldDays } from './fold-days.ts';
import { closeMetrics } from './fold-metrics.ts';
import { type Share, WHOLE } from './share.ts';

/** A day is closed from all its records, so that hours are ample. */
export const LATE_MS = 3 * HOUR_MS;
/** Differences that a few killed processes explain are no alarm. */
const MIN_DIFFERENCE = 3;
const MAX_SHARE = 0.001;
/** Covers a meter that could not be read when the month ended; operators see its last days. */
const COMPARED_MS = 7 * DAY_MS;

/** After every key. */
const ALL_KEYS = '~';

export type HistoryParts = FoldParts & {
  projects: Pick<ProjectStore, 'listProjects'>;
  keys: Pick<KeyStore, 'listKeys'>;
  meters: Pick<MeterStore, 'reap' | 'endedPeriods' | 'forgetPeriods'>;
  log: Log;
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

/** Units of closed periods, and those by which they differ more than when they were last compared. */
const newDifferenceOf = (all: Reconciled[]): { units: number; difference: number } => {
  let [units, difference] = [0, 0];
  for (const { used, recorded, corrected } of all) {
    units += used;
    difference += Math.max(0, Math.abs(used - recorded) - Math.abs(corrected));
  }
  return { units, difference };
};

export const createHistoryJob = (parts: HistoryParts): HistoryJob => {
  const { projects, history, clock, log } = parts;

  const report = ({ id: projectId }: Project, reconciled: Reconciled[]): void => {
    const { units, difference } = newDifferenceOf(reconciled);
    if (difference < MIN_DIFFERENCE || difference <= units * MAX_SHARE) return;
    log.error('history_differs', { projectId, units, difference });
  };

  /** Returns undefined if there was no time for all days: the next part continues after those that are folded. */
  const compare = async (project: Project, { now, ...share }: Share & { now: number }) => {
    const closedUntil = dayOf(now - LATE_MS - DAY_MS);
    const fold = { project, closedUntil, now, ...share };
    const { days, next, isComplete } = await foldDays(parts, fold);
    const reconciled: Reconciled[] = [];
    if (isComplete) {
      const [from = ''] = [dayOf(now - COMPARED_MS), ...days].toSorted();
      for (const month of monthsBetween(from, dayOf(now))) {
        reconciled.push(...(await compareMonth(parts, project.id, month)));
      }
      // Before the rows that correct it: what they hold is not reported again.
      report(project, reconciled);
      for (const period of reconciled) await correct(parts, period);
    }
    await history.putProgress(project.id, next);
    if (!isComplete) return undefined;
    // After the progress: no run changes the days before it any more.
    await closeMetrics(history, { projectId: project.id, closedUntil: next.closedDay, reconciled });
    return reconciled;
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
