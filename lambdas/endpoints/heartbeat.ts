import type { SseMessage } from '../protocols/sse.ts';
import type { Clock } from '../support/clock.ts';

/** Idle limits on the way to the caller start at 20 s (an agent's watchdog) and 30 s (edge proxies). */
const HEARTBEAT_MS = 10_000;

/** A promise that resolves after `ms`, and a way to let go of it. */
const tick = (clock: Clock, ms: number) => {
  let cancel = () => {};
  const passed = new Promise<'silence'>((resolve) => {
    cancel = clock.after(ms, () => resolve('silence'));
  });
  return { passed, cancel };
};

/** `promise`, or undefined if it takes longer than a heartbeat. @throws what the promise throws */
export const withinHeartbeat = async <T>(
  promise: Promise<T>,
  clock: Clock,
): Promise<T | undefined> => {
  const { passed, cancel } = tick(clock, HEARTBEAT_MS);
  try {
    const first = await Promise.race([promise, passed]);
    return first === 'silence' ? undefined : first;
  } finally {
    cancel();
  }
};

/** The same messages, with `beat` put in after each ten seconds of silence. */
export async function* withHeartbeat(
  source: AsyncGenerator<SseMessage[], void, void>,
  beat: SseMessage,
  clock: Clock,
): AsyncGenerator<SseMessage[], void, void> {
  try {
    for (;;) {
      const next = source.next();
      let result = await withinHeartbeat(next, clock);
      while (result === undefined) {
        yield [beat];
        result = await withinHeartbeat(next, clock);
      }
      if (result.done) return;
      yield result.value;
    }
  } finally {
    // Not awaited: the source may be waiting for an upstream that only its owner can end.
    source.return().catch(() => {});
  }
}
