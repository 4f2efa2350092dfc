import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHistoryJob, type HistoryParts } from '../../lambdas/history/history-job.ts';
import { createKeyLifecycle } from '../../lambdas/keys/lifecycle.ts';
import { periodOf } from '../../lambdas/metering/limits.ts';
import type { Period } from '../../lambdas/stores/plan-store.ts';
import type { RequestRecord } from '../../lambdas/stores/record-store.ts';
import { dayOf, minuteOf, systemClock } from '../../lambdas/support/clock.ts';
import { newRequestId } from '../../lambdas/support/ids.ts';
import { type LocalStores, openStores } from '../../local/local-stores.ts';
import { createRandom, type Random } from '../simulation/random.ts';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';
import { SEED } from '../support/seeds.ts';

const SCHEDULES = Number(process.env.HISTORY_SCHEDULES ?? 2);
const STEPS = 30;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** The last evening of a month. */
const START = Date.parse('2026-10-31T20:00:00Z');
const LIMITS = { rpm: 1_000, quota: 100_000 };
const PERIODS: Period[] = ['hour', 'day', 'month'];

let stores: LocalStores;
beforeAll(() => {
  stores = openStores(systemClock);
});
afterAll(() => stores.close());

type Store = Record<string, (...args: never[]) => unknown>;

/** Stores whose process dies at one of their next calls. */
const createDeath = (random: Random) => {
  let callsLeft = random.between(0, 30);
  return <T extends object>(store: T): T =>
    new Proxy(store, {
      get: (target, name) => {
        const verb = (target as Store)[String(name)];
        return (...args: never[]) => {
          callsLeft -= 1;
          if (callsLeft < 0) throw new Error('The process died.');
          return verb?.(...args);
        };
      },
    });
};

type Unit = { keyId: string; meterId: string; periodLength: Period; isCharged: boolean };

const createWorld = async (name: string, random: Random, clock: ManualClock) => {
  const { parts } = stores;
  await parts.projects.createProject({ id: name, createdAt: START });
  const lifecycle = createKeyLifecycle({ ...parts, clock, randomBytes });
  const keys = await Promise.all(
    PERIODS.map(() => lifecycle.create({ projectId: name, planId: 'none' })),
  );
  /** Charged units by model, as callers know them. */
  const ledger: Record<string, number> = {};
  const late: RequestRecord[] = [];
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const all: HistoryParts = { ...parts, clock, log };

  /** A request whose unit the meter counts; its record is written now, later or never. */
  const request = async (unit: Unit): Promise<void> => {
    const now = clock.now();
    const { keyId, meterId, isCharged, periodLength } = unit;
    const requestId = newRequestId(randomBytes, now);
    const period = periodOf(periodLength, now).label;
    const reservation = {
      meterId,
      requestId,
      keyId,
      minute: minuteOf(now),
      period,
      ...LIMITS,
      now,
    };
    await parts.meters.reserve(reservation);
    await settle(reservation, isCharged);
    const model = `vendor/model-${random.between(1, 2)}`;
    const record: RequestRecord = {
      id: requestId,
      startedAt: now,
      ms: 10,
      projectId: name,
      keyId,
      meterId,
      planId: 'none',
      day: dayOf(now),
      period,
      protocol: 'chat',
      model,
      isStream: false,
      attempts: [],
      estimatedInputTokens: 1,
      inputTokens: 3,
      isCharged,
      outcome: isCharged ? 'finished' : 'failed',
      status: isCharged ? 200 : 503,
    };
    const isLost = random.chance(0.1);
    const label = isLost ? 'lost' : model;
    if (isCharged) ledger[label] = (ledger[label] ?? 0) + 1;
    if (!isLost) await write(record);
  };

  const write = async (record: RequestRecord): Promise<void> => {
    if (random.chance(0.3)) late.push(record);
    else await parts.records.putRecord(record, 1);
    if (random.chance(0.2)) await parts.records.putRecord(record, 1);
  };

  const settle = async (
    reservation: Parameters<typeof parts.meters.reserve>[0],
    isCharged: boolean,
  ): Promise<void> => {
    if (!isCharged) return parts.meters.refund(reservation);
    return parts.meters.charge(reservation);
  };

  const writeLate = async (): Promise<void> => {
    for (const record of late.splice(0)) await parts.records.putRecord(record, 1);
  };

  const step = async (): Promise<void> => {
    const index = random.between(0, keys.length - 1);
    const key = keys[index]?.record;
    const periodLength = PERIODS[index];
    if (!key || !periodLength) return;
    const unit = { keyId: key.keyId, meterId: key.meterId, periodLength };
    await request({ ...unit, isCharged: random.chance(0.7) });
    if (random.chance(0.15)) await run(true);
    if (random.chance(0.1)) await Promise.all([run(false), run(true)]);
    clock.advance(random.between(0, 14 * MINUTE));
    // A record arrives within a quarter of an hour.
    await writeLate();
  };

  const run = async (mayDie: boolean): Promise<void> => {
    const { records, history, meters } = all;
    const dying = createDeath(random);
    const dead = { records: dying(records), history: dying(history), meters: dying(meters) };
    const job = createHistoryJob({ ...all, ...(mayDie && dead) });
    const share = {
      after: '',
      isOver: () => random.chance(0.5),
      isLate: () => mayDie && random.chance(0.05),
    };
    const runs = mayDie && random.chance(0.5) ? job.reconcile(name, share) : job.run(name);
    await runs.catch((error: unknown) => {
      if (!mayDie) throw error;
    });
  };

  const sums = async (): Promise<Record<string, number>> => {
    const found: Record<string, number> = {};
    const range = { projectId: name, from: '2026-10-01', to: '2026-11-30' };
    for await (const rows of parts.history.readRows(range)) {
      for (const { model, charged } of rows) {
        const label = model.startsWith('(unrecorded)') ? 'lost' : model;
        if (charged !== 0) found[label] = (found[label] ?? 0) + charged;
      }
    }
    return found;
  };

  return { step, run, sums, ledger };
};

test(`${SCHEDULES} random schedules of late records, crashed, partial and concurrent runs end without a difference`, async () => {
  for (let schedule = 0; schedule < SCHEDULES; schedule += 1) {
    const random = createRandom(SEED + schedule);
    const clock = createManualClock(START);
    const world = await createWorld(`schedule-${schedule}`, random, clock);
    await world.run(false);
    for (let step = 0; step < STEPS; step += 1) await world.step();
    // The last periods end with November.
    clock.set(Date.parse('2026-12-01T04:00:00Z'));
    await world.run(false);
    clock.advance(HOUR);
    await world.run(false);
    expect({ schedule, ...(await world.sums()) }).toEqual({ schedule, ...world.ledger });
  }
});
