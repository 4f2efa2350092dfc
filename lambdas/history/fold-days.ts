import type { HistoryProgress, HistoryStore } from '../stores/history-store.ts';
import type { Project } from '../stores/project-store.ts';
import type { RecordStore } from '../stores/record-store.ts';
import { type Clock, DAY_MS, dayOf, daysBetween, HOUR_MS } from '../support/clock.ts';
import { type DayToFold, foldDay } from './fold-day.ts';
import type { Share } from './share.ts';

export type FoldParts = {
  records: Pick<RecordStore, 'hasEntries' | 'readDay'>;
  history: HistoryStore;
  clock: Clock;
  /**
   * The instant (ms) that all requests in flight began after, and all whose record is not written yet.
   * @default an hour ago
   */
  settledUntil?: (() => number) | undefined;
  /** Whether a day has got records that are older than that: all of it is read again. @default none has */
  isUnsettled?: ((projectId: string, day: string) => boolean) | undefined;
};

/** A record is written at most 15 minutes (an invocation) and a write's 15 after its start; clocks differ by less than the rest. */
const SETTLED_MS = HOUR_MS;
/** Where a project has no history yet: days before that have no records. */
const FIRST_DAYS = 35;
/** A project has no record from before it was created, by clocks that differ by less. */
const BEFORE_CREATION_MS = 3 * DAY_MS;

/** In the place of an instant: all of the day is in its rows for good, but the days before and after it may not be. */
const FOLDED = Number.MAX_SAFE_INTEGER;

/** The days that may still change: those after the closed one. */
const openDays = ({ closedDay }: Pick<HistoryProgress, 'closedDay'>, now: number): string[] =>
  daysBetween(dayOf(Date.parse(closedDay) + DAY_MS), dayOf(now));

/** Of a project that has no history yet. */
const firstProgress = ({ createdAt }: Project, now: number): Omit<HistoryProgress, 'foldedAt'> => {
  const first = Math.max(now - FIRST_DAYS * DAY_MS, Math.min(now, createdAt) - BEFORE_CREATION_MS);
  return { closedDay: dayOf(first - DAY_MS), settled: {} };
};

type Fold = Pick<Share, 'isOver' | 'isLate'> & {
  project: Project;
  /** Days until this one are folded for good. @default none of those that are open */
  closedUntil?: string;
  now: number;
};

type Range = Pick<DayToFold, 'from' | 'settledUntil' | 'isWhole'>;

/** Folds the open days of a project until it is over. Returns them, and the progress to be stored. */
export const foldDays = async (
  parts: FoldParts,
  { project, closedUntil, now, isOver, isLate }: Fold,
): Promise<{ days: string[]; next: HistoryProgress; isComplete: boolean }> => {
  const { clock, history, settledUntil = () => clock.now() - SETTLED_MS } = parts;
  // Before the records are read, and in whole seconds, as the ids of requests are.
  const until = Math.floor(settledUntil() / 1_000) * 1_000;
  const stored = await history.readProgress(project.id);
  const progress = stored ?? firstProgress(project, now);
  const { closedDay } = progress;
  // Days that a version without sums has folded have none for good, and today's may have none either.
  const summedFrom = stored
    ? (stored.summedFrom ?? dayOf(now + DAY_MS))
    : dayOf(Date.parse(closedDay) + DAY_MS);
  const closing = closedUntil ?? closedDay;
  const days = openDays(progress, now);
  const settled = { ...progress.settled };
  const isLeft = (day: string) => settled[day] !== FOLDED;
  const openRange = (day: string): Range =>
    parts.isUnsettled?.(project.id, day)
      ? { settledUntil: until, isWhole: true }
      : { settledUntil: until, from: settled[day] };
  for (const [index, day] of days.filter(isLeft).entries()) {
    if (index > 0 && isOver()) {
      // Not as of now: days after this one are as they were.
      const foldedAt = (stored?.foldedAt ?? project.createdAt) + 1;
      return { days, next: { closedDay, foldedAt, settled, summedFrom }, isComplete: false };
    }
    const range: Range = day <= closing ? {} : openRange(day);
    await foldDay(parts, { projectId: project.id, day, ...range, isLate });
    settled[day] = day <= closing ? FOLDED : Math.max(until, range.from ?? until);
  }
  const open = Object.entries(settled).filter(([day]) => day > closing);
  const next = { closedDay: closing, foldedAt: now, settled: Object.fromEntries(open), summedFrom };
  return { days, next, isComplete: true };
};
