import { expect, test } from 'vitest';
import { createRoomEstimate } from '../../lambdas/metering/limit-cache.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { SEED } from '../support/seeds.ts';
import { createRandom, type Random } from './random.ts';

const START = Date.parse('2026-11-10T11:30:05Z');
const DRAWS = 400;
const MAX_EXTRA_CALLS = 16;
/** As in the store: writes of one environment in flight, and requests that travel in one. */
const WRITES = 2;
const GROUP = 40;

type Limit = 'rpm' | 'quota' | 'concurrency';
const LIMITS: Limit[] = ['rpm', 'quota', 'concurrency'];

/** A meter with one limit, of which no unit is returned. */
const createCounter = (kind: Limit, limit: number) => {
  let used = 0;
  const plan = { id: 'plan', rpm: 1e9, quota: 1e9, period: 'month' as const, [kind]: limit };
  return {
    caller: { keyId: 'key', projectId: 'project', meterId: 'meter', plan },
    take: (): boolean => {
      if (used >= limit) return false;
      used += 1;
      return true;
    },
    counts: () => ({
      minuteCount: kind === 'rpm' ? used : 0,
      periodCount: kind === 'quota' ? used : 0,
      inFlightCount: kind === 'concurrency' ? used : 0,
      reservedCount: 0,
    }),
  };
};

type Counter = ReturnType<typeof createCounter>;

/** An environment that starts one request each ms, `writeMs` away from the meter. */
const createProcess = (counter: Counter, clock: { now(): number }, writeMs: number) => {
  const room = createRoomEstimate({ clock: clock as ReturnType<typeof createManualClock> });
  const { caller } = counter;
  const waiting: boolean[] = [];
  let writes: { endsAt: number; members: boolean[] }[] = [];
  const count = { early: 0, extra: 0 };

  const settle = (isEarly: boolean): void => {
    if (counter.take()) room.saw(caller, counter.counts());
    else {
      room.denied(caller);
      if (isEarly) count.extra += 1;
    }
    room.leave(caller, isEarly);
  };

  return {
    count,
    isIdle: () => waiting.length + writes.length === 0,
    start: (): void => {
      const isEarly = room.enter(caller);
      if (isEarly) count.early += 1;
      waiting.push(isEarly);
    },
    /** What happens in this ms. */
    step: (): void => {
      for (const { members } of writes.filter(({ endsAt }) => endsAt <= clock.now()))
        members.forEach(settle);
      const wasFull = writes.length === WRITES;
      writes = writes.filter(({ endsAt }) => endsAt > clock.now());
      while (writes.length < WRITES && waiting.length > 0) {
        const members = waiting.splice(0, wasFull ? GROUP : 1);
        writes.push({ endsAt: clock.now() + writeMs, members });
      }
    },
  };
};

/** A burst on a key that some processes have served a while ago, or not at all; returns the calls that were denied. */
const playBurst = (random: Random) => {
  const clock = createManualClock(START);
  const kind = LIMITS[random.between(0, 2)] ?? 'rpm';
  const limit = random.chance(0.3) ? random.between(20, 300) : random.between(1_000, 8_000);
  const counter = createCounter(kind, limit);
  const processes = Array.from({ length: random.between(1, 4) }, () =>
    createProcess(counter, clock, random.between(0, 50)),
  );
  const tick = (): void => {
    for (const process of processes) process.step();
    clock.advance(1);
  };
  const untilIdle = (): void => {
    do tick();
    while (!processes.every(({ isIdle }) => isIdle()));
  };
  for (const process of processes) {
    for (let n = random.between(0, 3); n > 0; n -= 1) {
      process.start();
      untilIdle();
      clock.advance(random.chance(0.5) ? random.between(0, 3_000) : 0);
    }
  }
  const bursts = processes.map(() => ({
    startsAt: clock.now() + (random.chance(0.5) ? random.between(0, 3_000) : 0),
    left: random.between(1, limit),
  }));
  while (bursts.some(({ left }) => left > 0)) {
    for (const [index, burst] of bursts.entries()) {
      if (burst.startsAt > clock.now() || burst.left === 0) continue;
      burst.left -= 1;
      processes[index]?.start();
    }
    tick();
  }
  untilIdle();
  const sum = (name: 'early' | 'extra') =>
    processes.reduce((total, { count }) => total + count[name], 0);
  return { kind, limit, early: sum('early'), extra: sum('extra') };
};

test(`${DRAWS} simulated bursts of one to four environments, each as fast as a processor, cost at most 16 provider calls more than admitted requests`, () => {
  for (let seed = SEED; seed < SEED + DRAWS; seed += 1) {
    const played = playBurst(createRandom(seed));
    expect(played.extra, JSON.stringify({ seed, played })).toBeLessThanOrEqual(MAX_EXTRA_CALLS);
  }
});
