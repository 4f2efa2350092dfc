import type { AsyncCommand } from 'fast-check';
import { expect } from 'vitest';
import type { MeterStore, Reservation } from '../../../lambdas/stores/meter-store.ts';
import { StoreUnavailable } from '../../../lambdas/stores/store-unavailable.ts';
import { fc } from '../../support/seeds.ts';
import { FAULTS, type Fault, type FaultyClient } from './faulty-client.ts';
import type { MeterModel, Unit } from './model.ts';

/** The system under test: a process's store on a faulty client, and an operator's store that never fails. */
export type Real = {
  meterId: string;
  network: FaultyClient;
  /** Of the current process. */
  store: MeterStore;
  restart(): void;
  isSharded: boolean;
  observer: MeterStore;
  readItem(): Promise<Record<string, unknown>>;
};

type Command = AsyncCommand<MeterModel, Real>;
/** What a verb did: its value, or 'no answer'. */
type Effect<Value> = { value: Value } | 'no answer';

const MINUTE = 60_000;
/** A request lives for 15 minutes at most, and so does a signed write. */
const LIFE = 15 * MINUTE;

export const settle = async <Value>(verb: Promise<Value>): Promise<Effect<Value>> => {
  try {
    return { value: await verb };
  } catch (error) {
    if (error instanceof StoreUnavailable) return 'no answer';
    throw error;
  }
};

/** The store may close a minute five minutes after its end, and never opens it again. */
const checkFloor = (model: MeterModel, floor: number): void => {
  expect(floor).toBeGreaterThanOrEqual(model.floor);
  expect((floor + 6) * MINUTE).toBeLessThanOrEqual(model.now);
  model.floor = floor;
};

/** A command followed by a read: the counts equal the model's, and none is negative. */
const command = (
  name: string,
  check: (model: MeterModel) => boolean,
  run: (model: MeterModel, real: Real) => Promise<void>,
): Command => ({
  check,
  run: async (model, real) => {
    await run(model, real);
    const look = reservationIn(model, real, { id: 0, key: 0 });
    expect(await real.observer.readUsage(look)).toMatchObject(model.standing(look));
    const item = await real.readItem();
    const counters = Object.entries(item).filter(([name]) => /^(?:[qr]|n$)/.test(name));
    expect(Math.min(0, ...counters.map(([, value]) => Number(value)))).toBe(0);
    checkFloor(model, Number(item.f ?? 0));
  },
  toString: () => name,
});

const reservationIn = (
  model: MeterModel,
  { meterId }: Pick<Real, 'meterId'>,
  { id, key }: { id: number; key: number },
): Reservation => ({
  meterId,
  requestId: `req_${id}`,
  keyId: model.keys[key % model.keys.length] ?? '',
  minute: Math.floor(model.now / MINUTE),
  period: new Date(model.now).toISOString().slice(0, 13),
  ...model.limits,
  now: model.now,
});

const isAlive = (model: MeterModel, unit: Unit | undefined): unit is Unit =>
  unit !== undefined && !unit.isOver && model.now - unit.reservation.now < LIFE;

type Faulty = { model: MeterModel; unit: Unit; fault: Fault };

const isSilent = (fault: Fault): boolean => fault !== 'none' && fault !== 'duplicated';

/** One write of a unit under a fault, in the model; `apply` is its effect when it arrives. */
const underFault = <Value>(
  { model, fault }: Pick<Faulty, 'model' | 'fault'>,
  apply: () => Value,
): Effect<Value> => {
  if (fault === 'throttled') return 'no answer';
  if (fault === 'late') model.delay(model.now, apply);
  if (fault === 'late' || fault === 'dropped') return 'no answer';
  const value = apply();
  return isSilent(fault) ? 'no answer' : { value };
};

/** A limit of 0 causes a read and no write. */
const look = ({ model, unit, fault }: Faulty, mine: Reservation) =>
  isSilent(fault) ? 'no answer' : model.take({ ...unit }, mine);

const takeOrRefuse = (faulty: Faulty, mine: Reservation) => {
  const { model, unit } = faulty;
  if (unit.memory === 'none') {
    unit.memory = 'sure';
    unit.mayHold = false;
  }
  if (isSilent(faulty.fault) && faulty.fault !== 'throttled') {
    unit.memory = 'unsure';
    unit.mayHold = true;
  }
  const effect = underFault(faulty, () => model.take(unit, mine));
  if (effect === 'no answer') return effect;
  unit.mayHold ||= effect.value === 'admitted';
  if (effect.value !== 'admitted') {
    if (unit.memory === 'unsure' && unit.state === 'none') unit.state = 'refunded';
    unit.memory = 'none';
  }
  return effect.value;
};

export const reserve = (id: number, key: number, fault: Fault): Command =>
  command(
    `reserve ${id} with key ${key}, ${fault}`,
    (model) => {
      const unit = model.units.get(`req_${id}`);
      return !unit || (isAlive(model, unit) && !unit.settledBy);
    },
    async (model, real) => {
      const first = reservationIn(model, real, { id, key });
      const known = model.units.get(first.requestId);
      const unit: Unit = known ?? {
        reservation: first,
        state: 'none',
        memory: 'none',
        mayHold: false,
        isAdmitted: false,
        settledBy: undefined,
        isOver: false,
      };
      model.units.set(first.requestId, unit);
      // A repeat is the same write: same minute, same period, same time.
      const mine = {
        ...unit.reservation,
        ...model.limits,
        isRepeat: real.isSharded && known !== undefined,
      };
      real.network.injectNext(fault);
      const seen = await settle(real.store.reserve(mine));
      const isRead = mine.rpm < 1 || mine.quota < 1;
      const predict = isRead ? look : takeOrRefuse;
      const expected = predict({ model, unit, fault }, mine);
      expect(seen === 'no answer' ? seen : seen.value.outcome).toBe(expected);
      unit.isAdmitted ||= expected === 'admitted';
    },
  );

const verbOf = (
  name: string,
  id: number,
  fault: Fault,
  isAllowed: (unit: Unit) => boolean,
  run: (model: MeterModel, real: Real, unit: Unit) => Promise<void>,
): Command =>
  command(
    `${name} ${id}, ${fault}`,
    (model) => {
      const unit = model.units.get(`req_${id}`);
      return isAlive(model, unit) && isAllowed(unit);
    },
    async (model, real) => {
      const unit = model.units.get(`req_${id}`);
      if (!unit) return;
      real.network.injectNext(fault);
      await run(model, real, unit);
    },
  );

const charge = (id: number, fault: Fault): Command =>
  verbOf(
    'charge',
    id,
    fault,
    ({ isAdmitted, settledBy }) => isAdmitted && settledBy !== 'refund',
    async (model, real, unit) => {
      unit.settledBy = 'charge';
      const seen = await settle(real.store.charge(unit.reservation));
      const effect = underFault({ model, fault }, () => model.charge(unit));
      expect(seen === 'no answer').toBe(effect === 'no answer');
      unit.isOver = effect !== 'no answer';
      real.network.injectNext('none');
    },
  );

export const refund = (id: number, fault: Fault): Command =>
  verbOf(
    'refund',
    id,
    fault,
    ({ settledBy }) => settledBy !== 'charge',
    async (model, real, unit) => {
      unit.settledBy = 'refund';
      if (unit.memory !== 'none' && !unit.mayHold) {
        // Its reserve was throttled: there is nothing to refund, and nothing is written.
        await real.store.refund(unit.reservation);
        real.network.injectNext('none');
        unit.isOver = true;
        return;
      }
      const seen = await settle(real.store.refund(unit.reservation));
      const effect = underFault({ model, fault }, () => model.giveBack(unit, 'refunded'));
      expect(seen === 'no answer').toBe(effect === 'no answer');
      if (effect === 'no answer') return;
      // The tombstone keeps a late reserve out.
      unit.state = 'refunded';
      unit.isOver = true;
    },
  );

const always = () => true;

export const reap: Command = command('reap', always, async (model, real) => {
  const isOld = ({ reservation }: Unit) => reservation.minute * MINUTE + 17 * MINUTE <= model.now;
  const dead = [...model.units.values()].filter((unit) => unit.state === 'open' && isOld(unit));
  for (const unit of dead) model.giveBack(unit, 'reaped');
  expect(await real.observer.reap(real.meterId, model.now)).toBe(dead.length);
});

export const pass = (ms: number): Command =>
  command(`${ms} ms pass`, always, async (model, real) => {
    model.now += ms;
    const oldest = model.oldestLate();
    if (oldest === undefined || model.now - oldest < LIFE) return;
    model.expireLate();
    real.network.expireLate();
  });

export const landLate: Command = command('a late write lands', always, async (model, real) => {
  model.landLate();
  await real.network.landLate();
});

const crash: Command = command('the process dies', always, async (model, real) => {
  for (const unit of model.units.values()) unit.isOver = true;
  real.restart();
});

export const changePlan = (rpm: number, quota: number, concurrency = 9): Command =>
  command(`the plan becomes ${rpm}, ${quota} and ${concurrency}`, always, async (model) => {
    model.limits = { rpm, quota, concurrency };
  });

const endKey = (key: number, delay: number): Command =>
  command(`key ${key} ends in ${delay} ms`, always, async (model, real) => {
    const keyId = model.keys[key % model.keys.length] ?? '';
    model.endKey(keyId, model.now + delay);
    await real.observer.endKey(real.meterId, keyId, model.now + delay);
  });

const rotate = (overlap: number): Command =>
  command(`rotate, ${overlap} ms overlap`, always, async (model, real) => {
    const keyId = model.keys.at(-1) ?? '';
    model.keys.push(`key_${model.keys.length}`);
    model.endKey(keyId, model.now + overlap);
    await real.observer.endKey(real.meterId, keyId, model.now + overlap);
  });

/** Few, so that several commands meet the same request. */
const id = fc.nat(4);
const key = fc.nat(2);
export const anyFault = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Fault>('none') },
  { weight: 1, arbitrary: fc.constantFrom(...FAULTS) },
);
const limit = fc.constantFrom(0, 1, 2, 5, 9);
const duration = fc.constantFrom(
  1,
  1_000,
  1_000,
  30_000,
  MINUTE,
  10 * MINUTE,
  17 * MINUTE,
  60 * MINUTE,
);

/** Lists of what may happen to a meter, mostly its requests. */
export const meterCommands = (fault: fc.Arbitrary<Fault>) =>
  fc.commands(
    [
      fc.tuple(id, key, fault).map(([i, k, f]) => reserve(i, k, f)),
      fc.tuple(id, key, fault).map(([i, k, f]) => reserve(i, k, f)),
      fc.tuple(id, fault).map(([i, f]) => charge(i, f)),
      fc.tuple(id, fault).map(([i, f]) => charge(i, f)),
      fc.tuple(id, fault).map(([i, f]) => refund(i, f)),
      fc.constant(reap),
      duration.map(pass),
      fc.constant(landLate),
      fc.constant(landLate),
      fc.constant(crash),
      fc.tuple(limit, limit, fc.integer({ min: 1, max: 5 })).map((limits) => changePlan(...limits)),
      fc.tuple(key, duration).map(([k, ms]) => endKey(k, ms)),
      duration.map(rotate),
    ],
    { maxCommands: 80, size: '+1' },
  );
