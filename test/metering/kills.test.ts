import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { textOf } from '../replay/replay-bench.ts';
import { askFor } from './ask.ts';
import type { TableCall } from './dynamo-proxy.ts';
import { type Moment, startKillLab } from './kill-lab.ts';

const PATHS = ['/v1/chat/completions', '/v1/messages', '/v1/responses'];
const WORDS = 'one two three four five six seven eight';
/** Longer than a lease. */
const LEASE_OVER_MS = 31_000;
const METERS = 'meters';

let lab: Awaited<ReturnType<typeof startKillLab>>;
beforeAll(async () => {
  lab = await startKillLab();
});
afterAll(() => lab.close());

const asking =
  (key: string, stream: boolean, { server = 0, idempotencyKey = '', path = '' } = {}) =>
  () =>
    askFor(lab.urlOf(server), {
      ...{ path: path || '/v1/chat/completions', key, model: 'test/answers', stream },
      ...(idempotencyKey !== '' && { idempotencyKey }),
    });

const isFull = process.env.METERING_MATRIX === 'full';

/** A write that was not applied leaves the tables as the one before it did. */
const momentsOf = (writes: TableCall[]): Moment[] =>
  writes.flatMap((_, write) => [
    ...(write === 0 || isFull ? [{ write, isApplied: false }] : []),
    { write, isApplied: true },
  ]);

/** The receipt of the provider's count is in the same table. */
const meterWritesIn = (writes: TableCall[]): number =>
  writes.filter(({ table, key }) => table === METERS && !key.startsWith('R#')).length;

const shapes = (usual: boolean) => (isFull ? [true, false] : [usual]);

test.each(shapes(false))(
  'kill -9 at each write of a request charges its unit if its charge was applied, and otherwise none (streamed: %s)',
  async (stream) => {
    const writes = await lab.writesOf(asking(await lab.newKey(), stream));
    expect(meterWritesIn(writes)).toBe(2);
    for (const moment of momentsOf(writes)) {
      const key = await lab.newKey();
      const { isWhole } = await lab.killAt(moment, asking(key, stream));
      const applied = writes.slice(0, moment.write + Number(moment.isApplied));
      const used = meterWritesIn(applied) === 2 ? 1 : 0;
      expect({ ...moment, ...(await lab.usageOf(key)) }).toEqual({ ...moment, used, reserved: 0 });
      // A response is charged before its end is sent.
      if (isWhole) expect(used).toBe(1);
    }
  },
);

test.each(shapes(true))(
  'kill -9 at each write of a request with an idempotency key costs exactly one unit once the request is repeated (streamed: %s)',
  async (stream) => {
    const keyed = { idempotencyKey: 'one' };
    const writes = await lab.writesOf(asking(await lab.newKey(), stream, keyed));
    expect(writes.length).toBeGreaterThanOrEqual(4);
    for (const moment of momentsOf(writes)) {
      const path = PATHS[moment.write % PATHS.length] ?? '';
      const key = await lab.newKey();
      const before = lab.calls();
      const first = await lab.killAt(moment, asking(key, stream, { ...keyed, path }));
      const repeat = lab.read(asking(key, stream, { ...keyed, path, server: 1 })());
      // A kept response is sent at once; another one is generated when its owner's lease is over.
      await pause(100);
      lab.pass(LEASE_OVER_MS);
      const { text, isWhole } = await repeat;
      expect(isWhole).toBe(true);
      expect(textOf({ text })).toContain(WORDS);
      if (first.isWhole) expect(text).toBe(first.text);
      expect(lab.calls() - before).toBeLessThanOrEqual(first.isWhole ? 1 : 2);
      const usage = await lab.usageOf(key);
      expect({ ...moment, ...usage }).toEqual({ ...moment, used: 1, reserved: 0 });
    }
  },
);
