import { expect, onTestFinished, test } from 'vitest';
import { createMemoryDatabase } from '../../local/database/memory.ts';
import { openStores } from '../../local/local-stores.ts';
import { startLocal } from '../../local/start.ts';
import { MODEL_ON, post } from '../support/local.ts';
import { createManualClock } from '../support/manual-clock.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LAST_DAY = '2026-11-21';
const ASKED = { model: MODEL_ON.chat, messages: [{ role: 'user', content: 'say hello' }] };

/** A data folder's router that was killed right after a response, and started again after some days. */
const startAfter = async (days: number) => {
  const clock = createManualClock(Date.parse(`${LAST_DAY}T12:00:00Z`));
  const database = { ...createMemoryDatabase(), close: () => undefined };
  const start = async (at = clock) => {
    const router = await startLocal({ clock: at, stores: openStores(at, database) });
    onTestFinished(router.close);
    return router;
  };
  const stores = openStores(clock, database);
  onTestFinished(stores.close);
  const countRecords = async () => {
    let count = 0;
    for await (const page of stores.parts.records.readDay('local', LAST_DAY)) count += page.length;
    return count;
  };
  const foldedAt = async () => (await stores.parts.history.readProgress('local'))?.foldedAt ?? 0;
  const deadClock = createManualClock(clock.now());
  const dead = await start(deadClock);
  const ask = async (records: number) => {
    const response = await post(dead, '/v1/chat/completions', ASKED);
    expect(response.status).toBe(200);
    await response.text();
    await expect.poll(countRecords).toBe(records);
  };
  await ask(1);
  deadClock.advance(6_000);
  await expect.poll(foldedAt).toBeGreaterThan(0);
  // From here on its clock stands still, as if it were killed.
  await ask(2);
  stores.close();
  clock.advance(days * DAY);
  const router = await start();
  const readTotal = async () => {
    const reply = await fetch(`${router.baseUrl}/admin/usage?since=${LAST_DAY}&by=day`);
    const { total } = (await reply.json()) as { total: { cost_usd: number } };
    return total.cost_usd;
  };
  const runFor = async (ms: number) => {
    const startedAt = clock.now();
    clock.advance(6_000);
    await expect.poll(foldedAt).toBeGreaterThan(startedAt);
    clock.advance(ms);
  };
  return { countRecords, runFor, readTotal };
};

test('a router that starts after its records have expired has the cost of the last ones, though it is first asked hours later', async () => {
  const [soon, late] = [await startAfter(1), await startAfter(40)];
  await late.runFor(3 * HOUR);
  expect(await late.readTotal()).toBe(await soon.readTotal());
});

test('a router that runs for two minutes at a time deletes records that have expired', async () => {
  const { countRecords, runFor } = await startAfter(40);
  expect(await countRecords()).toBe(2);
  await runFor(2 * MINUTE);
  expect(await countRecords()).toBe(0);
});
