import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSpent, topOf } from '../../../lambdas/history/fold-who.ts';
import { addSums, NO_USAGE } from '../../../lambdas/history/sums.ts';
import type { Dimension, SpentBy } from '../../../lambdas/stores/history-store.ts';
import type { RequestRecord, Who } from '../../../lambdas/stores/record-store.ts';
import { systemClock } from '../../../lambdas/support/clock.ts';
import { type LocalStores, openStores } from '../../../local/local-stores.ts';

let stores: LocalStores;
beforeAll(() => {
  stores = openStores(systemClock);
});
afterAll(() => stores.close());

const DAY = '2026-11-24';
const START = Date.parse(DAY);
const MINUTE_MS = 60_000;
const USERS = 10_000;
const LONG = 'x'.repeat(114);

const recordOf = (who: Who) => ({ who }) as RequestRecord;
const sumsOf = (costNanos: number) => ({
  ...NO_USAGE,
  charged: 1,
  inputTokens: 123_456,
  costNanos,
});

const bytesOf = (spent: SpentBy) => Buffer.byteLength(JSON.stringify(spent));

const totalOf = (spent: SpentBy | undefined) => {
  if (!spent) return undefined;
  const total = { ...NO_USAGE };
  const { values, other } = topOf(spent);
  for (const { settled, open } of [...values.values(), other]) {
    addSums(total, settled);
    addSums(total, open);
  }
  return total;
};

const found = (projectId: string, dimension: Dimension) =>
  stores.parts.history.findSpent(projectId, DAY, dimension);

/** One in every thousand is expensive, and is to be seen. */
const priceOf = (user: number) => (user % 1_000 === 0 ? 1_000_000 : 1_000 + (user % 7));

test('10,000 distinct users and sessions a minute are one write of at most 400 KB a run and dimension, with exact totals', async () => {
  let writes = 0;
  const history = {
    ...stores.parts.history,
    putSpent: (spent: SpentBy) => {
      writes += 1;
      return stores.parts.history.putSpent(spent);
    },
  };
  let cost = 0;
  const MINUTES = 5;
  for (let minute = 0; minute < MINUTES; minute += 1) {
    const settledUntil = START + minute * MINUTE_MS;
    const fold = await openSpent(history, { projectId: 'many', day: DAY, settledUntil });
    // Those of the minute before again, as a run reads them: now they are settled.
    for (const at of [minute - 1, minute].filter((one) => one >= 0)) {
      for (let user = 0; user < USERS; user += 1) {
        const name = `${LONG}-${at}-${user}`;
        if (at === minute) cost += priceOf(user);
        const who = recordOf({ user: name, session: name });
        fold.add(who, sumsOf(priceOf(user)), START + at * MINUTE_MS);
      }
    }
    expect(await fold.write()).toBe(true);
  }
  expect(writes).toBe(2 * MINUTES);
  const spent = await found('many', 'user');
  if (!spent) throw new Error('The day has no users.');
  expect(totalOf(spent)).toMatchObject({ charged: MINUTES * USERS, costNanos: cost });
  expect(spent.values.length).toBeLessThanOrEqual(1_000);
  expect(bytesOf(spent)).toBeLessThan(400_000);
  const expensive = spent.values.filter(([name]) => Number(name.split('-')[2]) % 1_000 === 0);
  expect(expensive).toHaveLength(MINUTES * 10);
});

test('a run that another has overtaken writes no sums, and a closed day is not continued', async () => {
  const { history } = stores.parts;
  const day = { projectId: 'raced', day: DAY, settledUntil: START };
  const [one, other] = [await openSpent(history, day), await openSpent(history, day)];
  for (const fold of [one, other]) fold.add(recordOf({ user: 'ann' }), sumsOf(5), START);
  expect([await one.write(), await other.write()]).toEqual([true, false]);
  const closing = await openSpent(history, { ...day, settledUntil: undefined });
  closing.add(recordOf({ user: 'ann' }), sumsOf(7), START);
  expect(await closing.write()).toBe(true);
  const late = await openSpent(history, day);
  late.add(recordOf({ user: 'ann' }), sumsOf(9), START);
  expect(await late.write()).toBe(true);
  expect(totalOf(await found('raced', 'user'))).toMatchObject({ charged: 1, costNanos: 7 });
});

test('of more than 50 names of tags the first are kept, with the sum of each name', async () => {
  const day = { projectId: 'tagged', day: DAY, settledUntil: START };
  const fold = await openSpent(stores.parts.history, day);
  for (let at = 0; at < 60; at += 1) {
    fold.add(recordOf({ tags: [`name-${at}=a`, 'team=red'] }), sumsOf(1), START);
  }
  await fold.write();
  const spent = await found('tagged', 'tag');
  const names = spent?.values.filter(([value]) => value.endsWith('=')) ?? [];
  expect([names.length, spent?.hasMore]).toEqual([50, true]);
  const team = spent && topOf(spent).values.get('team=');
  expect((team?.settled.charged ?? 0) + (team?.open.charged ?? 0)).toBe(60);
});
