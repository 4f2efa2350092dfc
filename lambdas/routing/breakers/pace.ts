// How fast calls go to what has failed: one a second while it does, more with each response once it answers.
import { isPaced, type Pace, type Taker, type Turns, takeTurn } from './states.ts';

const INTERVAL_MS = 1_000;
/** The one who had the last turn leaves the next to others, asked for or not. */
const REPEAT_MS = 2_000;
/**
 * The one who had the last turn waits so long for another who was denied: a flood cannot take every turn. Less than 5 s,
 * so that a repair is detected within them though the other does not ask again.
 */
const YIELD_MS = 4_500;

const isTurnOf = (turns: Turns, by: Taker, now: number): boolean => {
  // The clock was set back.
  if (now < turns.at) return true;
  if (by === undefined || by !== turns.by) return now - turns.at >= INTERVAL_MS;
  const hasYielded = turns.deniedAt === undefined || now - turns.deniedAt >= YIELD_MS;
  return hasYielded && now - turns.at >= REPEAT_MS;
};

export const denyTurn = (turns: Turns, by: Taker, now: number): void => {
  if (by !== turns.by) turns.deniedAt ??= now;
};

/** After the first response: a provider that returns with a part of its capacity is not sent all calls at once. */
const RECOVERY_MS = 3_000;
/** A first content of so long ago shows that the target answers. */
const ANSWERING_MS = 10_000;
const WINDOW_MS = 1_000;
/** Calls a second at which no provider that answers is spared. */
const MIN_CALLS = 8;
/** Calls for each first content, as in gRPC's and the SRE book's adaptive throttling. */
const CALLS_PER_START = 2;

const add = (times: number[], now: number): void => {
  while (times[0] !== undefined && times[0] <= now - ANSWERING_MS) times.shift();
  times.push(now);
};

const countSince = (times: number[], since: number): number =>
  times.filter((at) => at > since).length;

/** Limits and counts the calls from now on. */
export const startPacing = (pace: Pace, now: number): void => {
  pace.until = now + RECOVERY_MS;
};

export const mayCall = ({ turns, calls, starts }: Pace, by: Taker, now: number): boolean => {
  const isAnswering = countSince(starts, now - ANSWERING_MS) > 0;
  if (!isAnswering) return isTurnOf(turns, by, now);
  const answered = countSince(starts, now - WINDOW_MS);
  return countSince(calls, now - WINDOW_MS) < Math.max(MIN_CALLS, CALLS_PER_START * answered);
};

export const noteCall = (pace: Pace, by: Taker, now: number): void => {
  takeTurn(pace.turns, by, now);
  if (isPaced(pace, now)) add(pace.calls, now);
};

export const noteStart = (pace: Pace, now: number): void => {
  if (isPaced(pace, now)) add(pace.starts, now);
};
