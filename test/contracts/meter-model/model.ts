import type { Reservation, ReserveResult } from '../../../lambdas/stores/meter-store.ts';

type Outcome = ReserveResult['outcome'];

/** One request in the model. */
export type Unit = {
  reservation: Reservation;
  state: 'none' | 'open' | 'committed' | 'refunded' | 'reaped';
  /** What its process remembers since the reservation: whether one of its writes had no response. */
  memory: 'none' | 'sure' | 'unsure';
  /** Of the same memory: whether its reserve was applied or may be. */
  mayHold: boolean;
  /** Its process, which remembers it, requested its refund. */
  isRefunded: boolean;
  /** Its process closed it, or died. */
  isOver: boolean;
};

type Late = { sentAt: number; land: () => void };

/** Model of a meter: counters, requests and key ends, without their storage. */
export const createMeterModel = (start: number) => {
  const counts = new Map<string, number>();
  const units = new Map<string, Unit>();
  const keyEnds = new Map<string, number>();
  let late: Late[] = [];

  const minuteOf = (r: Reservation) => `minute ${r.minute}`;
  const periodOf = (r: Reservation) => `period ${r.period}`;
  const count = (name: string) => counts.get(name) ?? 0;
  const add = (name: string, amount: number) => counts.set(name, count(name) + amount);

  const isKeyEnded = ({ keyId, now }: Reservation) =>
    (keyEnds.get(keyId) ?? Number.POSITIVE_INFINITY) <= now;

  const outcomeOf = (unit: Unit, r: Reservation): Outcome => {
    if (unit.state === 'open' || unit.state === 'committed') return 'admitted';
    if (unit.state === 'refunded') return 'refunded';
    if (isKeyEnded(r)) return 'key-ended';
    if (count(periodOf(r)) >= r.quota) return 'quota-exhausted';
    return count(minuteOf(r)) >= r.rpm ? 'rate-limited' : 'admitted';
  };

  const take = (unit: Unit, r: Reservation): Outcome => {
    const outcome = outcomeOf(unit, r);
    if (outcome === 'admitted' && unit.state === 'none') {
      unit.state = 'open';
      unit.reservation = r;
      add(minuteOf(r), 1);
      add(periodOf(r), 1);
    }
    return outcome;
  };

  const giveBack = (unit: Unit, state: 'refunded' | 'reaped'): boolean => {
    if (unit.state !== 'open' && unit.state !== 'committed') return false;
    add(periodOf(unit.reservation), -1);
    unit.state = state;
    return true;
  };

  return {
    now: start,
    limits: { rpm: 3, quota: 4 },
    keys: ['key_0'],
    units,
    take,
    giveBack,
    commit: (unit: Unit): boolean => {
      if (unit.state === 'open') unit.state = 'committed';
      return unit.state === 'committed';
    },
    endKey: (keyId: string, end: number) => {
      keyEnds.set(keyId, Math.min(end, keyEnds.get(keyId) ?? end));
    },
    standing: (r: Reservation) => ({
      minuteCount: count(minuteOf(r)),
      periodCount: count(periodOf(r)),
      isKeyEnded: isKeyEnded(r),
    }),
    delay: (sentAt: number, land: () => void) => late.push({ sentAt, land }),
    landLate: () => late.shift()?.land(),
    /** When the oldest write in flight was signed. */
    oldestLate: () => late[0]?.sentAt,
    expireLate: () => {
      late = [];
    },
  };
};

export type MeterModel = ReturnType<typeof createMeterModel>;
