import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSums } from '../../lambdas/history/fold-sums.ts';
import { createHistoryJob, type HistoryParts } from '../../lambdas/history/history-job.ts';
import { namesOf } from '../../lambdas/history/metric-sums.ts';
import { readMetrics } from '../../lambdas/history/read-metrics.ts';
import { readGroups } from '../../lambdas/history/read-who.ts';
import { NO_USAGE, SUM_NAMES } from '../../lambdas/history/sums.ts';
import { createRefusals } from '../../lambdas/records/recorder.ts';
import type { RequestRecord } from '../../lambdas/stores/record-store.ts';
import { dayOf, systemClock } from '../../lambdas/support/clock.ts';
import { rateLimited } from '../../lambdas/support/errors.ts';
import { newRequestId, suffixOf } from '../../lambdas/support/ids.ts';
import { type LocalStores, openStores } from '../../local/local-stores.ts';
import { createRandom, type Random } from '../simulation/random.ts';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';
import { SEED } from '../support/seeds.ts';

const SCHEDULES = Number(process.env.HISTORY_SCHEDULES ?? 3);
const STEPS = 25;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** The schedule passes a midnight. */
const START = Date.parse('2026-10-20T19:00:00Z');
const DAYS = { from: '2026-10-20', to: '2026-10-21' };
const KEYS = ['key_a', 'key_b', 'key_c'];
/** Clocks of processes differ by so much. */
const MAX_SKEW = 5 * MINUTE;

let stores: LocalStores;
beforeAll(() => {
  stores = openStores(systemClock);
});
afterAll(() => stores.close());

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
type Verb = (...args: never[]) => unknown;

/** A store whose calls are interleaved at random with those of others, and fail from one of them on. */
const interleaved = <T extends object>(store: T, random: Random, life: { calls: number }): T =>
  new Proxy(store, {
    get: (target, name) => {
      const verb = (target as Record<string, Verb>)[String(name)];
      return (...args: never[]) => {
        life.calls -= 1;
        if (life.calls < 0) throw new Error('The process died.');
        const result = verb?.(...args);
        if (!(result instanceof Promise)) return result;
        const turns = random.between(0, 3);
        return result.then(async (value: unknown) => {
          for (let turn = 0; turn < turns; turn += 1)
            await new Promise((resolve) => setImmediate(resolve));
          return value;
        });
      };
    },
  });

type Late = { record: RequestRecord; at: number };

/** Records of requests of random length by processes whose clocks differ, and runs that end anywhere. */
const createWorld = async (projectId: string, random: Random, clock: ManualClock) => {
  const { parts } = stores;
  await parts.projects.createProject({ id: projectId, createdAt: START });
  const written = new Map<string, RequestRecord>();
  let refused = 0;
  let due: Late[] = [];

  const begin = (duration: number): void => {
    const now = clock.now() + random.between(-MAX_SKEW, MAX_SKEW);
    const id = newRequestId(randomBytes, now);
    const keyId = KEYS[random.between(0, KEYS.length - 1)] ?? '';
    const isCharged = random.chance(0.7);
    const record: RequestRecord = {
      ...{ id, startedAt: now, ms: duration, projectId, keyId, meterId: keyId, planId: 'none' },
      // The unit may be taken in the day after the request began.
      day: dayOf(now + random.between(0, 10_000)),
      ...{ period: '2026-10', protocol: 'chat', model: `m-${random.between(1, 2)}` },
      ...{ isStream: false, attempts: [], inputTokens: random.between(1, 90), isCharged },
      ...{ outcome: isCharged ? ('finished' as const) : ('failed' as const), status: 200 },
    };
    due.push({ record, at: clock.now() + duration });
    // The charge failed at its last retry: the record is replaced.
    if (random.chance(0.1)) {
      due.push({ record: { ...record, isCharged: false }, at: clock.now() + 17 * MINUTE });
    }
  };

  const refuse = async (): Promise<void> => {
    const now = clock.now() + random.between(-MAX_SKEW, MAX_SKEW);
    const count = random.between(1, 9);
    refused += count;
    const refusals = [{ keyId: 'key_a', meterId: 'key_a', model: 'm-1', status: 429, count }];
    const id = suffixOf(newRequestId(randomBytes, now));
    await parts.records.putRefusals({ id, projectId, day: dayOf(now), refusals });
  };

  const write = async (): Promise<void> => {
    const arrived = due.filter(({ at }) => at <= clock.now()).toSorted((a, b) => a.at - b.at);
    due = due.filter(({ at }) => at > clock.now());
    for (const { record } of arrived) {
      const revision = written.has(record.id) ? 2 : 1;
      written.set(record.id, record);
      await parts.records.putRecord(record, revision);
      if (random.chance(0.2)) await parts.records.putRecord(record, revision);
    }
  };

  const partsOf = (calls: number): HistoryParts => {
    const life = { calls };
    const records = interleaved(parts.records, random, life);
    const history = interleaved(parts.history, random, life);
    const skew = random.between(-MAX_SKEW, MAX_SKEW);
    const ownClock = { ...clock, now: () => clock.now() + skew };
    return { ...parts, records, history, clock: ownClock, log };
  };

  const fold = (isWhole: boolean, calls = Number.POSITIVE_INFINITY): Promise<unknown> => {
    const job = createHistoryJob(partsOf(calls));
    return isWhole ? job.run(projectId) : job.fold();
  };

  const sums = async () => {
    const total = { charged: 0, refunded: 0, refused: 0, inputTokens: 0 };
    for await (const rows of parts.history.readRows({ projectId, ...DAYS })) {
      for (const row of rows) {
        if (row.model.startsWith('(')) continue;
        for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += row[name];
      }
    }
    return total;
  };

  /** The same by each of their names, from the sums of days. */
  const groups = async () => {
    const range = { projectId, ...DAYS };
    const { data, total } = await readGroups(parts.history, [range], {
      by: ['day', 'model', 'key'],
    });
    const all = [...data, [total]].map((rows) => {
      const sum = (name: 'charged' | 'refunded' | 'refused' | 'input_tokens') =>
        rows.reduce((before, row) => before + row[name], 0);
      const [charged, refunded] = [sum('charged'), sum('refunded')];
      return { charged, refunded, refused: sum('refused'), inputTokens: sum('input_tokens') };
    });
    const distinct = [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
    return distinct.length === 1 ? distinct[0] : distinct;
  };

  /** The same, as the metrics have them. */
  const metrics = async () => {
    const projects = (await parts.projects.listProjects()).filter(({ id }) => id === projectId);
    const [read] = await readMetrics(parts.history, projects, clock.now());
    if (!read) throw new Error('The project has no metrics.');
    const total = { charged: 0, refunded: 0, refused: 0, inputTokens: 0 };
    for (const [, numbers] of namesOf(read.sums, 'usage')) {
      for (const name of Object.keys(total) as (keyof typeof total)[]) {
        total[name] += numbers[SUM_NAMES.indexOf(name)] ?? 0;
      }
    }
    const durations = namesOf(read.sums, 'duration').reduce(
      (sum, [, [count = 0]]) => sum + count,
      0,
    );
    expect(durations).toBe(total.charged + total.refunded);
    return total;
  };

  const expected = () => {
    const all = [...written.values()];
    const charged = all.filter(({ isCharged }) => isCharged).length;
    const inputTokens = all.reduce((sum, record) => sum + (record.inputTokens ?? 0), 0);
    return { charged, refunded: all.length - charged, refused, inputTokens };
  };

  const step = async (): Promise<void> => {
    for (let count = random.between(0, 6); count > 0; count -= 1) {
      begin(random.chance(0.2) ? random.between(1, 14) * MINUTE : random.between(0, 9_000));
    }
    if (random.chance(0.3)) await refuse();
    clock.advance(random.between(0, 20 * MINUTE));
    await write();
    if (random.chance(0.3)) await fold(false, random.between(0, 25)).catch(() => undefined);
    if (random.chance(0.3)) await Promise.all([fold(false), fold(random.chance(0.3))]);
  };

  return { step, begin, write, fold, sums, groups, metrics, expected };
};

test.each([SCHEDULES])(
  'after each of %s schedules of late, repeated and replaced records, with runs at once that are killed between two writes, the figures are the sums of the records',
  async (schedules) => {
    for (let schedule = 0; schedule < schedules; schedule += 1) {
      const random = createRandom(SEED + schedule);
      const clock = createManualClock(START);
      const world = await createWorld(`fold-${schedule}`, random, clock);
      for (let step = 0; step < STEPS; step += 1) {
        await world.step();
        await world.fold(false);
        const figures = { schedule, step, ...(await world.sums()) };
        expect(figures).toEqual({ schedule, step, ...world.expected() });
        expect(await world.groups()).toEqual(world.expected());
        expect(await world.metrics()).toEqual(world.expected());
      }
      // A record that arrives after all limits is counted when its day is closed.
      world.begin(3 * HOUR);
      for (let hour = 0; hour < 3; hour += 1) {
        clock.advance(HOUR);
        await world.fold(false);
        await world.write();
      }
      clock.set(Date.parse('2026-10-22T03:30:00Z'));
      await world.write();
      await world.fold(true);
      expect({ schedule, ...(await world.sums()) }).toEqual({ schedule, ...world.expected() });
      expect({ schedule, ...(await world.metrics()) }).toEqual({ schedule, ...world.expected() });
      expect(await world.groups()).toEqual(world.expected());
      // All days are in the total, and each once: another run changes no figure.
      await world.fold(true);
      expect(await world.metrics()).toEqual(world.expected());
      const total = await stores.parts.history.findTotalMetrics(`fold-${schedule}`);
      expect(total?.through).toBe('2026-10-21');
      const progress = await stores.parts.history.readProgress(`fold-${schedule}`);
      expect(String(progress?.summedFrom) <= DAYS.from).toBe(true);
    }
  },
);

test('a fold without new records reads none of the old ones', async () => {
  const clock = createManualClock(START);
  const world = await createWorld('idle', createRandom(SEED), clock);
  for (let count = 0; count < 50; count += 1) world.begin(0);
  clock.advance(MINUTE);
  await world.write();
  await world.fold(false);
  clock.advance(20 * MINUTE);
  await world.write();
  await world.fold(false);
  clock.advance(2 * HOUR);
  await world.fold(false);
  let entries = 0;
  const records = {
    ...stores.parts.records,
    readDay: async function* (...args: [string, string, number?]) {
      for await (const page of stores.parts.records.readDay(...args)) {
        entries += page.length;
        yield page;
      }
    },
  };
  clock.advance(MINUTE);
  await createHistoryJob({ ...stores.parts, records, clock, log }).fold();
  expect(entries).toBe(0);
  expect(await world.sums()).toEqual(world.expected());
  world.begin(0);
  await world.write();
  await createHistoryJob({ ...stores.parts, records, clock, log }).fold();
  expect(entries).toBe(1);
  expect(await world.sums()).toEqual(world.expected());
});

test('a day with more keys than 30,000 has the same sums by key as before, and in each read once', async () => {
  const { history } = stores.parts;
  const day = DAYS.from;
  const rowsOf = (count: number) =>
    Array.from({ length: count }, (_, index) => {
      const keyId = `key_${index.toString(36).padStart(6, '0')}`;
      const names = { projectId: 'crowd', day, keyId, meterId: keyId, model: `m-${index % 3}` };
      return { ...names, ...NO_USAGE, charged: 1, costNanos: index, periods: {} };
    });
  const progress = { closedDay: '2026-10-19', settled: {}, summedFrom: day };
  for (const [foldedAt, count] of [29_999, 30_001].entries()) {
    const sums = await openSums(history, { projectId: 'crowd', day });
    expect(await sums.write(rowsOf(count))).toBe(true);
    await history.putProgress('crowd', { ...progress, foldedAt });
    const read = await readGroups(history, [{ projectId: 'crowd', ...DAYS }], { by: ['key'] });
    expect(read.data[0]).toHaveLength(count);
    expect(read.total.charged).toBe(count);
  }
});

test('denied requests are all counted two minutes after the last of them, without another request', async () => {
  const clock = createManualClock(START);
  const { parts } = stores;
  const counted = { keyId: 'key_a', meterId: 'key_a', model: 'm-1', status: 429 };
  const error = rateLimited('Too many.', {}, { name: 'requests_per_minute', limit: 1 });
  const refusals = createRefusals({ store: parts.records, clock, randomBytes });
  for (let count = 0; count < 742; count += 1) {
    const request = { id: newRequestId(randomBytes, clock.now()), startedAt: clock.now(), ms: 1 };
    const of = { projectId: 'denied', keyId: 'key_a', protocol: 'chat' };
    refusals.refuse({ ...request, ...of, error, counted: { ...counted, projectId: 'denied' } });
    await refusals.writing();
    if (count % 200 === 0) clock.advance(30_000);
  }
  const countedSoFar = async () => {
    clock.advance(MINUTE / 2);
    let sum = 0;
    for await (const page of parts.records.readDay('denied', dayOf(START))) {
      for (const entry of page) {
        if ('batch' in entry) for (const { count } of entry.batch.refusals) sum += count;
      }
    }
    return sum;
  };
  for (let tries = 0; tries < 6 && (await countedSoFar()) < 742; tries += 1);
  expect(clock.now() - START).toBeLessThanOrEqual(6 * MINUTE);
  expect(await countedSoFar()).toBe(742);
});
