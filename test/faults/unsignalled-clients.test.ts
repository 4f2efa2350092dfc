import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { HttpEvent } from '../../lambdas/http/read-event.ts';
import { functionUrl } from '../runtime/events.ts';
import { startLab } from '../support/fleet-lab.ts';
import { begin } from '../support/fleet-upstream.ts';

const BODY = {
  model: 'vendor/model',
  stream: true,
  max_tokens: 100,
  messages: [{ role: 'user', content: 'hi' }],
};

/** `settleOnEnd` inside the heartbeat would abort the upstream only at its next byte. */
test('without a signal, destroying the body of a silent stream ends the upstream call and settles the unit within one heartbeat', async () => {
  const { fleet, clock, primary, count } = await startLab([begin]);
  const event = functionUrl('/v1/chat/completions', { key: fleet.key, body: BODY });
  const body = new PassThrough();
  fleet.handlers[0]?.(event as unknown as HttpEvent, body, {}).catch(() => undefined);
  const [first] = (await once(body, 'data')) as [Buffer];
  expect(first.toString()).toContain('Hello');
  expect(primary.sockets.size).toBe(1);
  // The heartbeat's timer shows that the pipe waits for the silent upstream.
  await expect.poll(clock.waits).toContain(10_000);
  body.destroy();
  // `return()` reaches the pipe some ticks after the body has closed.
  await once(body, 'close');
  await setImmediate();
  clock.advance(10_000);
  await expect.poll(() => primary.sockets.size).toBe(0);
  await expect.poll(() => count('request')).toBe(1);
  expect(fleet.lines()).toContainEqual(
    expect.objectContaining({ event: 'request', status: 200, outcome: 'abandoned' }),
  );
  await expect.poll(clock.waits).toEqual([]);
  expect(await fleet.charged()).toBe(1);
});
