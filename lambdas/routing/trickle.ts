import type { Clock } from '../support/clock.ts';

/**
 * Lets single requests through to a model whose breakers are all open, so that no error of a breaker leaves
 * a model without a target.
 */
export type Trickle = {
  /** An attempt on the target began; the next request of the trickle goes a second later. */
  note(target: string): void;
  /** Returns undefined, or the place taken, to be released at the end of the call. */
  take(target: string, projectId: string): (() => void) | undefined;
};

const INTERVAL_MS = 1_000;
/** A call whose end was never reported; longer than the longest first-event timeout. */
const HELD_MS = 130_000;
/** One of each project: a project whose requests hang cannot take the places of others. */
const MAX_PLACES = 4;

export const createTrickle = (clock: Clock): Trickle => {
  // As many entries as the catalog has targets.
  const attemptAt = new Map<string, number>();
  const places = new Map<string, Map<string, number>>();

  const placesOf = (target: string): Map<string, number> => {
    const taken = places.get(target) ?? new Map<string, number>();
    for (const [projectId, at] of taken) {
      if (clock.now() - at >= HELD_MS) taken.delete(projectId);
    }
    places.set(target, taken);
    return taken;
  };

  return {
    note: (target) => void attemptAt.set(target, clock.now()),
    take: (target, projectId) => {
      const now = clock.now();
      const taken = placesOf(target);
      if (now - (attemptAt.get(target) ?? 0) < INTERVAL_MS) return undefined;
      if (taken.size >= MAX_PLACES || taken.has(projectId)) return undefined;
      attemptAt.set(target, now);
      taken.set(projectId, now);
      return () => {
        if (taken.get(projectId) === now) taken.delete(projectId);
      };
    },
  };
};
