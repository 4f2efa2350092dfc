import { beforeEach, describe, expect, test } from 'vitest';
import { rejection } from '../support/error-of.ts';
import type { Family } from '../support/families.ts';
import { createFreshModels } from '../support/fresh-models.ts';
import { useRouter } from '../support/local.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { createRecordingFetch } from '../support/recording-fetch.ts';
import { CALLERS, type Caller } from './callers.ts';

const TEN_SECONDS = 10_000;
const clock = createManualClock(Date.now());
// A pause between the messages, so that the first ones have left before the upstream falls silent.
const models = createFreshModels(12);
const router = useRouter({ clock, delayMs: 2, catalog: models.catalog });
beforeEach(() => router().upstreams.reset());

const PROTOCOLS: Family[] = ['chat', 'messages'];
/** The fifth message of an answer that counts from one. */
const LAST_WORD = { chat: 'four', messages: 'three' };
const GRID = CALLERS.flatMap((caller) =>
  PROTOCOLS.map((protocol) => ({ caller, protocol, name: caller.name })),
);

/** Ten seconds later, once the response waits for that: its unit may still be reserved when its target is asked. */
const beat = async () => {
  await expect.poll(() => clock.hasTimerOf(TEN_SECONDS)).toBe(true);
  clock.advance(TEN_SECONDS);
};

const ask = (caller: Caller, protocol: Family) => {
  const recording = createRecordingFetch();
  const { baseUrl, key } = router();
  const answer = caller.stream(
    { baseUrl, key, fetch: recording.fetch },
    { model: models.next(protocol), prompt: 'say One two three four five six.' },
  );
  // Looked at when the silence is over.
  answer.catch(() => {});
  return { recording, answer };
};

describe.each(GRID)('$name on an upstream that speaks $protocol', ({ caller, protocol }) => {
  test('an SDK gets headers and heartbeats while the first target is silent, then the response of the second', async () => {
    router().upstreams.inject({ fault: { kind: 'stall' }, times: 1 });
    const { recording, answer } = ask(caller, protocol);
    await expect.poll(() => router().upstreams.calls.length).toBe(1);
    expect(recording.statuses).toEqual([]);

    await beat();
    await expect.poll(() => recording.statuses).toEqual([200]);
    await expect.poll(() => recording.text).toBe(caller.heartbeat);
    await beat();
    await expect.poll(() => recording.text).toBe(caller.heartbeat.repeat(2));

    // After thirty seconds without a first event, the second target is asked.
    await beat();
    expect(await answer).toBe('One two three four five six.');
    expect(router().upstreams.calls).toHaveLength(2);
    expect(recording.text.startsWith(caller.heartbeat.repeat(2))).toBe(true);
  });

  test('an SDK gets an error event when no target responds after the headers were sent', async () => {
    router().upstreams.inject({ fault: { kind: 'stall' }, times: 1 });
    router().upstreams.inject({ fault: { kind: 'status', status: 500 } });
    const { recording, answer } = ask(caller, protocol);
    await expect.poll(() => router().upstreams.calls.length).toBe(1);
    await beat();
    await expect.poll(() => recording.statuses).toEqual([200]);
    clock.advance(2 * TEN_SECONDS);
    const error = await rejection(answer);
    expect(String(error)).toContain('The model is temporarily unavailable.');
    expect(router().upstreams.calls).toHaveLength(2);
  });

  test('an SDK gets heartbeats in mid-stream and an error event after a minute of silence', async () => {
    router().upstreams.inject({ fault: { kind: 'stall', after: 5 }, times: 1 });
    const { recording, answer } = ask(caller, protocol);
    await expect.poll(() => recording.text).toContain(LAST_WORD[protocol]);
    const { length } = recording.text;
    for (let beats = 1; beats <= 5; beats += 1) {
      await beat();
      await expect.poll(() => recording.text.slice(length)).toBe(caller.heartbeat.repeat(beats));
    }
    await beat();
    const error = await rejection(answer);
    expect(String(error)).toContain('The model is temporarily unavailable.');
    // Never switched: the caller has seen a part of this answer.
    expect(router().upstreams.calls).toHaveLength(1);
  });
});
