import { type Clock, withTimeout } from '../support/clock.ts';
import type { MessageBatches, SseMessage } from './sse.ts';

/** Idle limits between here and the caller start at 20 s (an agent's watchdog) and 30 s (edge proxies). */
export const HEARTBEAT_MS = 10_000;

/** Yields the same messages, and `beat` after each 10 s of silence. */
export async function* withHeartbeat(
  source: MessageBatches,
  beat: SseMessage,
  clock: Clock,
): MessageBatches {
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
    // Not awaited: `return` waits behind a pending `next`, which only the end of the request can abort.
    source.return().catch(() => {});
  }
}
