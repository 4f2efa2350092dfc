import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Caller } from '../../lambdas/keys/authenticate.ts';
import type { Admission } from '../../lambdas/metering/admission.ts';
import { leaseOf } from '../../lambdas/metering/budgets.ts';
import { createMeter, type Meter } from '../../lambdas/metering/meter.ts';
import {
  type BudgetPeriod,
  type BudgetStore,
  type Hold,
  type Lease,
  labelAt,
} from '../../lambdas/stores/budget-store.ts';
import { isOpen, MARK, nanosIn } from '../../lambdas/stores/dynamo/budgets/counter-items.ts';
import { leasedIn, markName, marksIn } from '../../lambdas/stores/dynamo/meter-marks.ts';
import type { MeterStore } from '../../lambdas/stores/meter-store.ts';
import { StoreUnavailable } from '../../lambdas/stores/store-unavailable.ts';
import type { Clock } from '../../lambdas/support/clock.ts';
import { ApiError } from '../../lambdas/support/errors.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { createFaultyClient, type Faults } from './faulty-network.ts';
import { createMemoryClient, createMemoryTable, type MemoryTable } from './memory-table.ts';
import { createRandom, type Random } from './random.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';

export type BudgetStores = {
  createMeters(client: DynamoDBDocumentClient, clock: Clock): MeterStore;
  createBudgets(client: DynamoDBDocumentClient, clock: Clock): BudgetStore;
};

/** What a provider has billed for a request, and what its process knows of it. */
type Call = {
  requestId: string;
  lease: Lease;
  /** The budgets that it may be under, or is. */
  holds: Hold[];
  /** The provider's invoice: it bills also what no process reads. */
  billed: number;
  state: 'running' | 'ending' | 'ended' | 'unknown';
  isAlive: () => boolean;
};

const BORDER = Date.parse('2026-12-31T23:59:58Z');
const MINUTE = 60_000;
const ENOUGH = 1_000_000;

const USERS = ['ann', 'bob'];
const SCOPES = ['key', 'project', 'organisation', 'user', 'session'];

/** Budgets, alone or several together; the amounts are small, so that they are spent to the last one. */
const worldFrom = (random: Random) => {
  const period = random.chance(0.5) ? 'hour' : 'total';
  const first = SCOPES[random.between(0, 4)];
  const scopes = SCOPES.filter((scope) => scope === first || random.chance(0.3));
  // The same for all users of a project, or one for each.
  const fallback = random.chance(0.5) ? `/${period}/${random.between(20, 300)}` : '';
  const plan = { id: 'plan', rpm: ENOUGH, quota: ENOUGH, period: 'month' as const };
  const budgets = scopes.map((scope) =>
    scope === 'user' || scope === 'session' ? `${scope}${fallback}` : `${scope}/${period}`,
  );
  const keys = random.between(1, 3);
  const callers = Array.from({ length: keys }, (_, n): Caller => {
    return { keyId: `key${n}`, projectId: 'prj', meterId: `mtr${n}`, plan, budgets };
  });
  return { callers, period } as const;
};

type World = {
  faults: Faults;
  random: Random;
  scheduler: Scheduler;
  calls: Call[];
  limits: Map<string, number>;
  broken: string[];
  /** Of the least that a request leases: budgets have plenty for small ones. */
  most: number;
  /** Requests that are being admitted, changed or settled. */
  busy: { count: number };
  /** Requests whose refund could not be written. */
  pending: Set<string>;
  /** Leases of copies of writes that no process knows of, by item and mark. */
  strays: Map<string, number>;
};

/** The budgets that a request was under when it was reserved. */
const holdsOf = ({ holds, counters = [] }: Lease): Hold[] => [
  ...holds,
  ...counters.flatMap(({ hold, mark, isUncertain }) =>
    hold && (mark !== undefined || isUncertain) ? hold : [],
  ),
];

const nameOf = ({ budget, label }: Hold) => `${budget}|${label}`;

/** Law 1: what providers have billed is never more than the budget. */
const checkBilled = ({ calls, limits, broken }: World): void => {
  const sums = new Map<string, number>();
  for (const { holds, billed } of calls) {
    for (const hold of holds) {
      sums.set(nameOf(hold), (sums.get(nameOf(hold)) ?? 0) + billed);
    }
  }
  for (const [name, sum] of sums) {
    const max = limits.get(name.split('|')[0] ?? '') ?? 0;
    if (sum > max) broken.push(`${name} billed ${sum} of ${max}`);
  }
};

/** Law 2: a 402 only if the cost of ended requests leaves no room, a 429 only if a request is in flight. */
const checkDenial = (
  error: unknown,
  world: World,
  { holds, needed }: { holds: Hold[]; needed: number },
) => {
  if (!(error instanceof ApiError) || error.code === undefined) return;
  const { calls, limits, broken } = world;
  if (error.code === 'budget_in_flight') {
    const isQuiet = world.busy.count === 1 && calls.every(({ state }) => state === 'ended');
    if (isQuiet) broken.push('429 with no request in flight');
    return;
  }
  if (error.code !== 'budget_exceeded') return;
  const isSpent = holds.some((hold) => {
    const spent = calls
      .filter(
        ({ holds: others, state }) =>
          state !== 'running' && others.some((held) => nameOf(held) === nameOf(hold)),
      )
      .reduce(
        (sum, { billed, state, lease }) => sum + (state === 'unknown' ? lease.nanos : billed),
        0,
      );
    return spent + needed > (limits.get(hold.budget) ?? 0);
  });
  if (!isSpent) broken.push(`402 for ${needed} with room`);
};

/** Those of a request that is denied. */
const allHolds = ({ holds, counters = [] }: Lease, period: BudgetPeriod, now: number): Hold[] => [
  ...holds,
  ...counters.map(({ budget }) => ({ budget, period, label: labelAt(period, now) })),
];

/** Generates slices until the response or the budget ends; the provider bills as it goes. */
const generate = async (meter: Meter, { unit }: Admission, call: Call, world: World) => {
  const { random, scheduler } = world;
  const { lease } = call;
  const steps = random.between(0, 6);
  call.billed = Math.min(lease.nanos, random.between(1, Math.max(1, lease.nanos)));
  checkBilled(world);
  for (let step = 0; step < steps; step += 1) {
    await scheduler.sleep(random.between(0, 1_500));
    const cost = random.between(0, 12);
    if (call.billed + cost > lease.nanos) {
      const refusal = await busily(world, () =>
        meter.changeLease({ ...unit, lease }, call.billed + cost),
      );
      if (refusal || !call.isAlive()) return;
    } else if (random.chance(0.2)) {
      // What was leased for the worst case is returned.
      await busily(world, () => meter.changeLease({ ...unit, lease }, call.billed + cost));
    }
    if (!call.isAlive()) return;
    call.billed += cost;
    checkBilled(world);
  }
};

const busily = async <Value>({ busy }: World, verb: () => Promise<Value>): Promise<Value> => {
  busy.count += 1;
  try {
    return await verb();
  } finally {
    busy.count -= 1;
  }
};

const runRequest = async (
  meter: Meter,
  world: World,
  {
    caller,
    period,
    requestId,
    clock,
    isAlive,
  }: {
    caller: Caller;
    period: BudgetPeriod;
    requestId: string;
    clock: Clock;
    isAlive: () => boolean;
  },
): Promise<void> => {
  const { random } = world;
  // A model may cost nothing.
  const needed = random.between(0, world.most);
  const now = clock.now();
  const who = {
    user: USERS[random.between(0, 1)] ?? '',
    session: USERS[random.between(0, 1)] ?? '',
  };
  // Leased where there is plenty; a request that a process did not end is taken to have leased it.
  const ample = needed + random.between(0, 8);
  const lease = leaseOf(caller, { nanos: ample, who }, now);
  const holds = allHolds(lease, period, now);
  const call: Call = { requestId, lease, holds, billed: 0, state: 'unknown', isAlive };
  // Until its outcome is known; that of a 503 is not, if the refund fails too.
  world.calls.push(call);
  let admission: Admission;
  try {
    admission = await busily(world, async () => {
      try {
        return await meter.admit(caller, requestId, {
          lease: { nanos: needed, ample, fixed: 0, perToken: 1, who },
          now,
        });
      } catch (error) {
        checkDenial(error, world, { holds, needed });
        throw error;
      }
    });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status !== 503) world.calls.splice(world.calls.indexOf(call), 1);
    return;
  }
  if (!admission.unit.lease) throw new Error('No lease.');
  call.lease = admission.unit.lease;
  call.holds = holdsOf(call.lease);
  call.state = 'running';
  try {
    await generate(meter, admission, call, world);
  } catch (error) {
    // The stream ends where the tables fail.
    if (!(error instanceof StoreUnavailable)) throw error;
  }
  call.lease.spent = call.billed;
  call.state = 'ending';
  const isWritten = await busily(world, async () => {
    const isFree = random.chance(0.3);
    const isCharged = isFree ? await admission.refund() : await admission.charge();
    await admission.finished();
    return isFree ? !world.pending.has(requestId) : isCharged;
  });
  call.state = isWritten ? 'ended' : 'unknown';
};

/**
 * A copy that the network made of a denied write may find room, as it may for units: the mark of a request that was denied, or
 * that has ended in another item. Its lease stays spent.
 */
const noteStrays = (table: MemoryTable, { calls, strays }: World): void => {
  const open = calls.filter(({ state }) => state !== 'ended');
  const known = new Set(open.map(({ requestId }) => markName(requestId)));
  for (const [key, item] of table.items) {
    for (const { name, value, isOpen: isUnit } of marksIn(item)) {
      if (isUnit && !known.has(name)) strays.set(`${key} ${name}`, leasedIn(value));
    }
    const marks = key.startsWith('budget/') ? Object.entries(item) : [];
    for (const [name, mark] of marks) {
      const isKnown = open.some(({ requestId }) => MARK + requestId === name);
      if (isOpen(mark) && !isKnown) strays.set(`${key} ${name}`, nanosIn(mark));
    }
  }
};

/** Law 3: what is enforced is the cost of all requests, with the leases of those that died. */
const checkSums = async (budgets: BudgetStore, world: World, when: string) => {
  const holds = new Map(
    world.calls.flatMap(({ holds }) => holds.map((hold) => [nameOf(hold), hold])),
  );
  for (const [name, hold] of holds) {
    // No request of a user has reached its item.
    const state = (await budgets.readBudget(hold)) ?? { spent: 0, leased: 0 };
    const calls = world.calls.filter(({ holds }) => holds.some((held) => nameOf(held) === name));
    const known = calls
      .filter(({ state }) => state === 'ended')
      .reduce((sum, { billed }) => sum + billed, 0);
    const open = calls.filter(({ state }) => state !== 'ended');
    const copied = [...world.strays.values()].reduce((sum, nanos) => sum + nanos, 0);
    const billed = open.reduce((sum, call) => sum + call.billed, 0);
    const enforced = state.spent + state.leased;
    const atMost = open.reduce((sum, { lease }) => sum + lease.nanos + 60, known + copied);
    if (enforced < known + billed)
      world.broken.push(`${when} ${name} enforces ${enforced} of ${known + billed}`);
    if (enforced > atMost)
      world.broken.push(`${when} ${name} enforces ${enforced}, at most ${atMost}`);
  }
};

/** Runs one schedule; the broken laws, in words. */
export const simulateBudgets = async (
  seed: number,
  faults: Faults,
  { createMeters, createBudgets }: BudgetStores,
): Promise<string[]> => {
  const random = createRandom(seed);
  const scheduler = createScheduler(BORDER - random.between(0, 3_000));
  const table = createMemoryTable();
  const { callers, period } = worldFrom(random);
  const limits = new Map<string, number>();
  const broken: string[] = [];
  const world: World = {
    faults,
    random,
    scheduler,
    calls: [],
    limits,
    broken,
    most: random.chance(0.5) ? 40 : 3,
    busy: { count: 0 },
    pending: new Set(),
    strays: new Map(),
  };
  const operator = createMemoryClient(table, 'always');
  const budgets = createBudgets(operator, scheduler);
  const known = callers.flatMap((caller) =>
    USERS.flatMap((name) => {
      const who = { user: name, session: name };
      const lease = leaseOf(caller, { nanos: 0, who }, scheduler.now());
      for (const { budget, fallback } of lease.counters ?? []) {
        if (fallback) limits.set(budget, fallback.max);
      }
      return allHolds(lease, period, scheduler.now());
    }),
  );
  for (const hold of known) {
    if (limits.has(hold.budget)) continue;
    limits.set(hold.budget, random.between(20, 300));
    const max = limits.get(hold.budget) ?? 0;
    const [, scope = '', ...id] = hold.budget.split('/');
    const owner = { scope, id: id.join('/'), name: id.join('/'), period: hold.period };
    await budgets.setBudget({ ...owner, max, isPaused: false, setBy: 'operator', setAt: 0 }, hold);
  }

  const noteRefund = (line: string) => {
    const { event, requestId } = JSON.parse(line);
    if (event === 'meter_refund_pending') world.pending.add(requestId);
  };

  /** By request, whether its process is alive. */
  const waiting = new Map<string, () => boolean>();

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
      store: createMeters(client, clock),
      clock,
      log: createLog(noteRefund),
    });
    if (random.chance(faults.crash)) {
      scheduler.after(random.between(0, 8_000), () => {
        process.isAlive = false;
        // What it settles at the moment is not known.
        for (const call of world.calls) {
          if (call.isAlive === isAlive && call.state !== 'ended') call.state = 'unknown';
        }
      });
    }
    // A crowd, or one request after another.
    const arrivalMs = random.chance(0.3) ? 200 : 6_000;
    for (let n = 0; n < random.between(2, 10); n += 1) {
      scheduler.after(random.between(0, arrivalMs), () => {
        const caller = callers[random.between(0, callers.length - 1)];
        if (!caller) return;
        const request = { caller, period, requestId: `req_${id}_${n}`, clock, isAlive };
        waiting.set(request.requestId, isAlive);
        runRequest(meter, world, request)
          .catch((error) => broken.push(`threw ${error}`))
          .finally(() => waiting.delete(request.requestId));
      });
    }
  };
  for (let id = random.between(1, 4); id > 0; id -= 1) startProcess(id);

  await scheduler.run(BORDER + 5 * MINUTE);
  if (faults.duplicate > 0) noteStrays(table, world);
  await checkSums(budgets, world, 'after five minutes');
  await scheduler.run(BORDER + 20 * MINUTE);
  const meters = createMeters(operator, scheduler);
  for (const { meterId } of callers) await meters.reap(meterId, scheduler.now());
  await checkSums(budgets, world, 'after the reaper');
  // Law 4: every request ends.
  for (const [requestId, isAlive] of waiting) if (isAlive()) broken.push(`${requestId} waits`);
  return broken;
};
