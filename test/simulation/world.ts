import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Caller } from '../../lambdas/keys/authenticate.ts';
import type { LogEvent } from '../../lambdas/log-events.ts';
import type { Admission } from '../../lambdas/metering/admission.ts';
import { LimitReached } from '../../lambdas/metering/limits.ts';
import { createMeter, type Meter } from '../../lambdas/metering/meter.ts';
import type { MeterStore } from '../../lambdas/stores/meter-store.ts';
import type { Plan } from '../../lambdas/stores/plan-store.ts';
import type { Clock } from '../../lambdas/support/clock.ts';
import { ApiError } from '../../lambdas/support/errors.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { createFaultyClient, type Faults } from './faulty-network.ts';
import { createMemoryClient, createMemoryTable } from './memory-table.ts';
import { createRandom, type Random } from './random.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';

export type CreateStore = (client: DynamoDBDocumentClient, clock: Clock) => MeterStore;

/**
 * One request as its caller saw it. `charge` is 0 until its response has ended, since a process that dies before
 * that refunds its unit; 1 once the charge is written; undefined if it is not known whether it is.
 */
type Entry = {
  requestId: string;
  minute: number;
  period: number;
  charge: 0 | 1 | undefined;
  /** Until its refund begins. */
  holdsUnit: boolean;
};

type Ledger = {
  entries: Entry[];
  /** Minutes for which a caller got a 429 because the minute is full. */
  fullMinutes: Set<number>;
  /** Requests admitted and not yet settled, the dead included: the reaper comes later. */
  inFlight: number;
  broken: string[];
};

/** How a promise begins that is broken at the caller's cost. */
export const TOO_MUCH = 'too much';

const METER_ID = 'mtr';
/** Two seconds before an hour ends, so that requests straddle every kind of border. */
const BORDER = Date.parse('2026-12-31T23:59:58Z');
const MINUTE = 60_000;

/** What callers ask for: limits from and to, requests of a process from and to, and within how many ms. */
export type Load = { limits: [number, number]; requests: [number, number]; withinMs: number };
export const SPARSE: Load = { limits: [0, 5], requests: [1, 6], withinMs: 5_000 };
/** Many requests meet in the same moments. */
export const DENSE: Load = { limits: [1, 12], requests: [4, 12], withinMs: 400 };
/** So many that the writes of one item wait for one another. */
export const CROWDED: Load = { limits: [3, 60], requests: [5, 20], withinMs: 60 };

const planFrom = (random: Random, { limits }: Load): Plan => ({
  id: 'plan',
  rpm: random.between(...limits),
  quota: random.between(...limits),
  period: random.chance(0.5) ? 'hour' : 'month',
  ...(random.chance(0.5) && { concurrency: random.between(1, limits[1] - 2) }),
});

/** A 402 while a unit of the period is merely reserved would keep a caller away for days. */
const checkDenial = (error: unknown, ledger: Ledger, { quota }: Plan): void => {
  if (!(error instanceof LimitReached)) return;
  const { entries, broken, fullMinutes } = ledger;
  const isMinuteFull = error.status === 429 && error.headers['x-should-retry'] !== 'true';
  if (isMinuteFull) fullMinutes.add(error.limits.requests.resetAt / MINUTE - 1);
  if (error.status !== 402) return;
  const { resetAt } = error.limits.quota;
  const used = entries.filter(({ period, charge }) => period === resetAt && charge !== 0);
  if (used.length < quota) broken.push(`402 with ${used.length} of ${quota} used`);
};

/** One request: admit, an upstream that takes its time, and one of the ways an answer can end. */
const runRequest = async (
  { meter, scheduler, random }: { meter: Meter; scheduler: Scheduler; random: Random },
  { caller, requestId }: { caller: Caller; requestId: string },
  ledger: Ledger,
): Promise<void> => {
  let admission: Admission;
  try {
    admission = await meter.admit(caller, requestId);
  } catch (error) {
    checkDenial(error, ledger, caller.plan);
    throw error;
  }
  ledger.inFlight += 1;
  const { concurrency = Number.POSITIVE_INFINITY } = caller.plan;
  if (ledger.inFlight > concurrency) ledger.broken.push('more in flight than the concurrency');
  const { requests, quota } = admission.limits;
  const minute = requests.resetAt / MINUTE - 1;
  const entry: Entry = { requestId, minute, period: quota.resetAt, charge: 0, holdsUnit: true };
  ledger.entries.push(entry);
  const held = ledger.entries.filter(
    ({ period, holdsUnit }) => holdsUnit && period === entry.period,
  );
  if (held.length > caller.plan.quota) ledger.broken.push('more units than the quota');
  await scheduler.sleep(random.between(0, 8_000));
  const isFailure = random.chance(0.35);
  ledger.inFlight -= 1;
  entry.charge = undefined;
  entry.holdsUnit = !isFailure;
  await (isFailure ? admission.refund() : admission.charge());
  entry.charge = isFailure ? 0 : 1;
  await admission.finished();
};

const countBy = (entries: Entry[], key: 'minute' | 'period'): number => {
  const counts = new Map<number, number>();
  for (const entry of entries) counts.set(entry[key], (counts.get(entry[key]) ?? 0) + 1);
  return Math.max(0, ...counts.values());
};

/** Whether the log says that a refund was not written in time, and not that it was written later. */
const isRefundOpen = (lines: string[], requestId: string): boolean =>
  isLogged(lines, 'meter_refund_late', requestId) &&
  !isLogged(lines, 'meter_refund_written', requestId);

const isLogged = (lines: string[], event: LogEvent, requestId: string): boolean =>
  lines.some((line) => line.includes(`"${event}"`) && line.includes(`"${requestId}"`));

/** Runs one schedule; the broken promises, in words. An empty list is what every seed must give. */
export const simulate = async (
  seed: number,
  faults: Faults,
  createStore: CreateStore,
  load: Load = SPARSE,
): Promise<string[]> => {
  const random = createRandom(seed);
  const scheduler = createScheduler(BORDER - random.between(0, 3_000));
  const table = createMemoryTable();
  const plan = planFrom(random, load);
  const caller: Caller = { keyId: 'key', projectId: 'prj', meterId: METER_ID, plan };
  const broken: string[] = [];
  const ledger: Ledger = { entries: [], inFlight: 0, broken, fullMinutes: new Set() };
  const lines: string[] = [];

  const startProcess = (id: number) => {
    const skew = random.between(-3_000, 3_000);
    const process = { isAlive: true };
    const isAlive = () => process.isAlive;
    const client = createFaultyClient({ table, scheduler, random, faults, isAlive });
    const clock: Clock = {
      now: () => scheduler.now() + skew,
      after: (ms, action) => scheduler.after(ms, () => isAlive() && action()),
    };
    const meter = createMeter({
      store: createStore(client, clock),
      clock,
      log: createLog((line) => isAlive() && lines.push(line)),
    });
    if (random.chance(faults.crash)) {
      scheduler.after(random.between(0, 8_000), () => {
        process.isAlive = false;
      });
    }
    const requests = random.between(...load.requests);
    for (let n = 0; n < requests; n += 1) {
      scheduler.after(random.between(0, load.withinMs), () => {
        const request = { caller, requestId: `req_${id}_${n}` };
        runRequest({ meter, scheduler, random }, request, ledger).catch((error) => {
          if (!(error instanceof ApiError)) broken.push(`threw ${error}`);
        });
      });
    }
  };
  const processes = random.between(1, 4);
  for (let id = 0; id < processes; id += 1) startProcess(id);

  await scheduler.run(BORDER + 5 * MINUTE);
  const items = () => [...table.items.entries()].filter(([key]) => !key.includes('free'));
  const counters = (prefix: string) =>
    items().flatMap(([, item]) =>
      Object.entries(item).flatMap(([name, value]) =>
        name.startsWith(prefix) ? [Number(value)] : [],
      ),
    );
  const sumOf = (prefix: string) => counters(prefix).reduce((sum, value) => sum + value, 0);
  const { entries } = ledger;
  for (const entry of entries) {
    if (isLogged(lines, 'meter_charge_pending', entry.requestId)) entry.charge = undefined;
  }
  if (countBy(entries, 'minute') > plan.rpm) broken.push('a minute admitted more than its rate');
  const isCalm = Object.values(faults).every((probability) => probability === 0);
  for (const minute of isCalm ? ledger.fullMinutes : []) {
    const admitted = entries.filter((entry) => entry.minute === minute).length;
    if (admitted < plan.rpm) broken.push(`429 with ${admitted} of ${plan.rpm} admitted`);
  }
  const charged = entries.filter(({ charge }) => charge === 1);
  if (countBy(charged, 'period') > plan.quota) broken.push('a period charged more than its quota');

  const unknown = entries.filter(({ charge }) => charge === undefined).length;
  const logged = entries.filter(({ requestId }) => isRefundOpen(lines, requestId)).length;
  const compare = (when: string) => {
    // What a root has lent is part of its own counter and of its shards'.
    const total = sumOf('q') - sumOf('aq');
    const most = charged.length + unknown + logged;
    const counts = `${when}: ${charged.length} to ${most} charged, ${total} on the meter`;
    if (total < charged.length) broken.push(`too little ${counts}`);
    if (total > most) broken.push(`${TOO_MUCH} ${counts}`);
  };
  // Every late write has landed. The counts are right without a reaper, except where a process died, or where
  // a write was copied without the SDK's knowledge: a refused one, whose copy then found room.
  await scheduler.run(BORDER + 20 * MINUTE);
  if (faults.crash + faults.duplicate + faults.stray === 0) compare('before the reaper');
  const operator = createStore(createMemoryClient(table, 'always'), scheduler);
  await operator.reap(METER_ID, scheduler.now());
  compare('after the reaper');
  if (counters('q').some((value) => value < 0)) broken.push('a counter below zero');
  return broken;
};
