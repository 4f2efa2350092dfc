import type { Clock } from '../../support/clock.ts';
import type { SharedStates } from './shared-states.ts';

/** Longer than a breaker stays open at most, so that a report is still known when its probe fails. */
const REPORT_MS = 3 * 60_000;

/** A report is a shared state like that of a breaker; no target has such a name. */
const reportOf = (target: string): string => `unreachable ${target}`;

/**
 * Reports that this environment cannot connect to a target, and returns whether another one has reported it too. The
 * network of one environment may be the cause, so that it takes two to open the breaker of all.
 */
export const createUnreachableReports = (parts: { states: SharedStates; clock: Clock }) => {
  const { states, clock } = parts;
  /** Versions of this environment's own reports. As many entries as the catalog has targets. */
  const reported = new Map<string, number>();
  return async (target: string): Promise<boolean> => {
    const name = reportOf(target);
    const found = await states.read(name);
    const now = clock.now();
    const isConfirmed =
      found !== undefined && found.openUntil > now && found.version !== reported.get(target);
    const next = { openUntil: now + REPORT_MS, openings: 0 };
    const written = await states.transition(name, next, found?.version ?? 0);
    if (written) reported.set(target, written.version);
    return isConfirmed;
  };
};
