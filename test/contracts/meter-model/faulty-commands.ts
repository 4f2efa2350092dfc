import type { AsyncCommand } from 'fast-check';
import { expect } from 'vitest';
import type { Reservation } from '../../../lambdas/stores/meter-store.ts';
import { fc } from '../../support/seeds.ts';
import { anyFault, type Real, settle } from './commands.ts';
import type { Fault } from './faulty-client.ts';
import { charged, createPossibilities, type Effect, refunded } from './possibilities.ts';

const MINUTE = 60_000;
/** A request lives for 15 minutes at most, and so does a signed write. */
const LIFE = 15 * MINUTE;

/** A request that a process has sent and not settled. */
type Running = { reservation: Reservation; isAdmitted: boolean; settledBy?: 'charge' | 'refund' };

/** What the callers of a sharded meter know of it. */
export const createFaultyModel = (start: number) => ({
  now: start,
  limits: { rpm: 3, quota: 4, concurrency: 3 },
  possible: createPossibilities(),
  running: new Map<string, Running>(),
  sent: 0,
  /** Writes in flight without a response; each may be applied once. */
  late: [] as { sentAt: number; land: () => void }[],
});
export type FaultyModel = ReturnType<typeof createFaultyModel>;

type Command = AsyncCommand<FaultyModel, Real>;
/** The fault of one of a verb's calls: its own write, or one that reads, lends or joins before it. */
type Injected = { fault: Fault; callsBefore: number };
const textOf = ({ fault, callsBefore }: Injected) => `${fault} after ${callsBefore} calls`;

const reservationOf = (
  { now, limits }: FaultyModel,
  { meterId }: Pick<Real, 'meterId'>,
  { id, key }: { id: number; key: number },
): Reservation => ({
  meterId,
  requestId: `req_${id}`,
  keyId: `key_${key}`,
  minute: Math.floor(now / MINUTE),
  period: new Date(now).toISOString().slice(0, 13),
  ...limits,
  now,
});

const always = () => true;

/** A command followed by a read: at least one possible history explains the counts. */
const command = (
  name: string,
  check: (model: FaultyModel) => boolean,
  run: (model: FaultyModel, real: Real) => Promise<void>,
): Command => ({
  check,
  run: async (model, real) => {
    await run(model, real);
    const look = reservationOf(model, real, { id: 0, key: 0 });
    const { minuteCount, periodCount, reservedCount, inFlightCount, isKeyEnded } =
      await real.observer.readUsage(look);
    const seen = { minuteCount, periodCount, reservedCount, inFlightCount };
    expect(model.possible.counts(look)).toContainEqual(seen);
    expect(isKeyEnded).toBe(model.possible.isKeyEnded(look));
    model.possible.seeCounts(look, (counts) => JSON.stringify(counts) === JSON.stringify(seen));
  },
  toString: () => name,
});

/**
 * Runs a verb whose calls have one fault. Undefined if it has no response: its write is applied, or is not, or is when
 * the late write lands.
 */
const underFault = async <Value>(
  { model, real, fault, callsBefore }: Injected & { model: FaultyModel; real: Real },
  verb: () => Promise<Value>,
  fork: () => void,
): Promise<{ value: Value } | undefined> => {
  const { network } = real;
  const lateBefore = network.countLate();
  network.injectNext(fault, callsBefore);
  const seen = await settle(verb());
  network.injectNext('none');
  const isSilent = seen === 'no answer';
  if (network.countLate() > lateBefore) {
    model.late.push({ sentAt: model.now, land: isSilent ? fork : () => undefined });
  }
  if (!isSilent) return seen;
  expect(['none', 'duplicated']).not.toContain(fault);
  fork();
  return undefined;
};

/** One of the requests that are not settled. */
const pick = ({ running }: FaultyModel, n: number): Running | undefined =>
  [...running.values()][n % Math.max(1, running.size)];

const send = async (model: FaultyModel, real: Real, one: Running, injected: Injected) => {
  const { requestId } = one.reservation;
  const isRepeat = model.running.has(requestId);
  model.running.set(requestId, one);
  const mine = { ...one.reservation, ...model.limits, isRepeat };
  const seen = await underFault(
    { model, real, ...injected },
    () => real.store.reserve(mine),
    () => model.possible.fork(mine, model.possible.reserved),
  );
  if (!seen) return;
  model.possible.see(mine, seen.value.outcome);
  if (seen.value.outcome === 'admitted') one.isAdmitted = true;
  else model.running.delete(requestId);
};

const reserve = (key: number, injected: Injected): Command =>
  command(`reserve with key ${key}, ${textOf(injected)}`, always, async (model, real) => {
    model.sent += 1;
    const reservation = reservationOf(model, real, { id: model.sent, key });
    model.possible.begin(reservation);
    await send(model, real, { reservation, isAdmitted: false }, injected);
  });

const repeat = (n: number, injected: Injected): Command =>
  command(
    `repeat ${n}, ${textOf(injected)}`,
    (model) => {
      const one = pick(model, n);
      return one !== undefined && !one.settledBy && model.now - one.reservation.now < 4 * MINUTE;
    },
    async (model, real) => {
      const one = pick(model, n);
      if (one) await send(model, real, one, injected);
    },
  );

const settling = (
  verb: 'charge' | 'refund',
  effect: Effect,
  n: number,
  injected: Injected,
): Command =>
  command(
    `${verb} ${n}, ${textOf(injected)}`,
    (model) => {
      const one = pick(model, n);
      if (!one || model.now - one.reservation.now >= LIFE) return false;
      return (one.settledBy ?? verb) === verb && (one.isAdmitted || verb === 'refund');
    },
    async (model, real) => {
      const one = pick(model, n);
      if (!one) return;
      one.settledBy = verb;
      const seen = await underFault(
        { model, real, ...injected },
        () => real.store[verb](one.reservation),
        () => model.possible.fork(one.reservation, effect),
      );
      if (!seen) return;
      model.possible.apply(one.reservation, effect);
      model.running.delete(one.reservation.requestId);
    },
  );

const reap: Command = command('reap', always, async (model, real) => {
  model.possible.seeReaped(model.now, await real.observer.reap(real.meterId, model.now));
});

const pass = (ms: number): Command =>
  command(`${ms} ms pass`, always, async (model, real) => {
    model.now += ms;
    if (model.now - (model.late[0]?.sentAt ?? model.now) < LIFE) return;
    model.late = [];
    real.network.expireLate();
  });

const landLate: Command = command('a late write lands', always, async (model, real) => {
  model.late.shift()?.land();
  await real.network.landLate();
});

const crash: Command = command('the process dies', always, async (model, real) => {
  model.running.clear();
  real.restart();
});

const changePlan = (rpm: number, quota: number, concurrency: number): Command =>
  command(`the plan becomes ${rpm}, ${quota} and ${concurrency}`, always, async (model) => {
    model.limits = { rpm, quota, concurrency };
  });

const endKey = (key: number, delay: number): Command =>
  command(`key ${key} ends in ${delay} ms`, always, async (model, real) => {
    const { keyEnds } = model.possible;
    const end = model.now + delay;
    keyEnds.set(`key_${key}`, Math.min(end, keyEnds.get(`key_${key}`) ?? end));
    await real.observer.endKey(real.meterId, `key_${key}`, end);
  });

/** Few, so that several commands meet the same request. */
const n = fc.nat(2);
const key = fc.nat(2);
const anyInjected = fc.record({ fault: anyFault, callsBefore: fc.constantFrom(0, 0, 0, 1, 2, 4) });
/** Not 0: then nothing is written, so that a late copy of an earlier attempt takes a unit until it is reaped. */
const limit = fc.constantFrom(1, 2, 5, 9);
const duration = fc.constantFrom(1, 1_000, 30_000, MINUTE, 10 * MINUTE, 17 * MINUTE, 60 * MINUTE);

/** Lists of what may happen to a sharded meter, mostly its requests. */
export const faultyCommands = fc.commands(
  [
    fc.tuple(key, anyInjected).map((parts) => reserve(...parts)),
    fc.tuple(key, anyInjected).map((parts) => reserve(...parts)),
    fc.tuple(n, anyInjected).map((parts) => repeat(...parts)),
    fc.tuple(n, anyInjected).map(([i, f]) => settling('charge', charged, i, f)),
    fc.tuple(n, anyInjected).map(([i, f]) => settling('refund', refunded, i, f)),
    fc.constant(landLate),
    fc.constant(reap),
    duration.map(pass),
    fc.constant(landLate),
    fc.constant(crash),
    fc.tuple(limit, limit, fc.integer({ min: 1, max: 8 })).map((limits) => changePlan(...limits)),
    fc.tuple(key, duration).map(([k, ms]) => endKey(k, ms)),
  ],
  { maxCommands: 80, size: '+1' },
);
