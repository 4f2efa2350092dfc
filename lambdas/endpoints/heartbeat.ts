import type { SseMessage } from '../protocols/sse.ts';
import type { Clock } from '../support/clock.ts';
import { withTimeout } from '../support/with-timeout.ts';

/** Idle limits on the way to the caller start at 20 s (an agent's watchdog) and 30 s (edge proxies). */
export const HEARTBEAT_MS = 10_000;

/** The same messages, with `beat` put in after each ten seconds of silence. */
export async function* withHeartbeat(
  source: AsyncGenerator<SseMessage[], void, void>,
  beat: SseMessage,
  clock: Clock,
): AsyncGenerator<SseMessage[], void, void> {
  try {
    for (;;) {
      const next = source.next();
      let arrived = await withTimeout(clock, HEARTBEAT_MS, next);
      while (!arrived) {
        yield [beat];
        arrived = await withTimeout(clock, HEARTBEAT_MS, next);
      }
      const { value: result } = arrived;
      if (result.done) return;
      yield result.value;
    }
  } finally {
    // Not awaited: the source may be waiting for an upstream that only its owner can end.
    source.return().catch(() => {});
  }
}
