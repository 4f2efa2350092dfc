import type { Clock } from '../support/clock.ts';

/** A breaker of this environment alone: open, then half-open with one probe at a time. */
export type LocalBreaker = {
  /** Milliseconds until a call may be made; 0 if it may be now. */
  waitMs(): number;
  /** Returns whether the call that begins is the probe of a half-open breaker. */
  enter(): boolean;
  /** The probe ended without evidence. */
  release(): void;
  /** Opens for longer each time. */
  trip(openMs: (openings: number) => number): { openUntil: number; openings: number };
  /** The first content of the probe has arrived: calls may be made, and one failure opens it again. */
  start(): void;
  close(): void;
  isOnProbation(): boolean;
};

/** A probe whose end was never reported expires after the longest first-event timeout. */
const PROBE_MS = 120_000;
const PROBE_WAIT_MS = 2_000;

export const createLocalBreaker = (clock: Clock): LocalBreaker => {
  let openUntil = 0;
  let openings = 0;
  let probeUntil = 0;
  return {
    waitMs: () => {
      const now = clock.now();
      if (openUntil > now) return openUntil - now;
      return probeUntil > now ? PROBE_WAIT_MS : 0;
    },
    enter: () => {
      const isProbe = openUntil > 0;
      if (isProbe) probeUntil = clock.now() + PROBE_MS;
      return isProbe;
    },
    release: () => {
      probeUntil = 0;
    },
    trip: (openMs) => {
      openUntil = clock.now() + openMs(openings);
      openings += 1;
      probeUntil = 0;
      return { openUntil, openings };
    },
    start: () => {
      openUntil = 0;
      probeUntil = 0;
    },
    close: () => {
      openUntil = 0;
      openings = 0;
      probeUntil = 0;
    },
    isOnProbation: () => openings > 0,
  };
};
