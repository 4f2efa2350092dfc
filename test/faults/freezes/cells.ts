import { setTimeout as pause } from 'node:timers/promises';
import type { TableCall } from '../../metering/dynamo-proxy.ts';
import { checksAll } from '../../support/seeds.ts';
import type { Sent } from '../../support/send.ts';
import {
  type FrozenEnvironment,
  type Moment,
  momentOf,
  startEnvironment,
  type World,
} from './bench.ts';
import { CUTS, type Cut } from './wire.ts';

export type Cell = {
  /** When the process is frozen. */
  moment: Moment;
  ms: number;
  cut: Cut;
  monotonic: 'runs' | 'stands still';
  isStream: boolean;
};

export type Outcome = {
  cell: Cell;
  /** Of the request that was frozen, if one was. */
  frozen: { status: number; ms: number } | undefined;
  /** Of the first request after the freeze, and of the one after it. */
  next: { status: number; ms: number; calls: number };
  last: { status: number; ms: number; calls: number };
  /** Units that are charged 18 minutes later, and whole responses that callers got. */
  charged: number;
  reserved: number;
  answered: number;
};

/** Key, plan, breaker and lessons are read again after so long. */
const STALE_MS = 11_000;
const REAPED_AFTER_MS = 18 * 60_000;
/** A request that still runs after this time, in ms, waits for a timeout: time passes faster then. */
const PATIENCE_MS = 2_600;

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const LENGTHS_MS = [SECOND_MS, MINUTE_MS, 15 * MINUTE_MS, 360 * MINUTE_MS];

const IDLE: Moment = 'between two requests';
const LEFT_BEHIND: Moment = 'a request that was rejected has left its look-ups';

/** Freezes at the first moment of this name. */
const freezeAt = (world: World, name: string, environment: FrozenEnvironment, cell: Cell) => {
  const { clock, proxy, cut } = environment;
  const frozen = Promise.withResolvers<void>();
  let isOver = false;
  const meet = (moment: Moment) => {
    if (isOver || moment !== cell.moment) return;
    isOver = true;
    cut(cell.cut);
    clock.freeze(cell.ms, cell.monotonic);
    frozen.resolve();
  };
  const counts = new Map<string, number>();
  proxy.decide((call: TableCall) => {
    const kind = `${call.operation} ${call.table}`;
    const nth = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, nth);
    meet(momentOf(call, nth));
    return 'none';
  });
  world.watch(name, meet);
  return { frozen: frozen.promise, meet };
};

/** Waits for a response; after a while time passes a second in every 20 ms. The result has the router's time. */
const timed = async (environment: FrozenEnvironment, asking: Promise<Sent>) => {
  const { clock } = environment;
  const startedAt = clock.now();
  let isOver = false;
  const asked = asking.then(
    (sent) => sent,
    () => ({ status: 0, headers: {}, text: '' }),
  );
  void asked.then(() => {
    isOver = true;
  });
  const giveUpAt = performance.now() + PATIENCE_MS;
  while (!isOver) {
    await pause(5);
    if (performance.now() < giveUpAt) continue;
    await pause(15);
    if (!isOver) clock.advance(1_000);
  }
  const { status, text } = await asked;
  const isWhole = status === 200 && !/"error"|event: error/.test(text);
  return { status: isWhole || status !== 200 ? status : 0, ms: clock.now() - startedAt };
};

/** Calls of a request that is repeated after everything in memory is old. */
export const recordMoments = async (world: World): Promise<Moment[]> => {
  const environment = await startEnvironment(world, 'recorded');
  try {
    await environment.ask('recorded 1', false);
    await pause(100);
    environment.clock.advance(STALE_MS);
    const before = environment.proxy.calls.length;
    await environment.ask('recorded 2', false);
    await pause(100);
    const counts = new Map<string, number>();
    const calls = environment.proxy.calls.slice(before).map((call) => {
      const kind = `${call.operation} ${call.table}`;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      return momentOf(call, counts.get(kind) ?? 0);
    });
    return [
      IDLE,
      LEFT_BEHIND,
      ...calls,
      'the provider has the request',
      'the first words were sent',
    ];
  } finally {
    await environment.close();
  }
};

export const runCell = async (world: World, cell: Cell, index: number): Promise<Outcome> => {
  const name = `cell-${index}`;
  const environment = await startEnvironment(world, name);
  const { clock, ask, counts } = environment;
  const askTimed = async (label: string) => {
    const text = `${name} ${label}`;
    const { status, ms } = await timed(environment, ask(text, cell.isStream));
    return { status, ms, calls: world.asked.filter((one) => one === text).length };
  };
  try {
    const statuses = [(await ask(`${name} first`, cell.isStream)).status];
    await pause(50);
    clock.advance(STALE_MS);
    const { frozen, meet } = freezeAt(world, name, environment, cell);
    let interrupted: Promise<{ status: number; ms: number }> | undefined;
    if (cell.moment === LEFT_BEHIND) await environment.askInvalid();
    else if (cell.moment !== IDLE) interrupted = askTimed('frozen');
    await Promise.race([frozen, interrupted]);
    // If that has not been: on a busy machine a request may end without its moment.
    meet(cell.moment);
    const next = await askTimed('next');
    const last = await askTimed('last');
    const seen = await interrupted;
    statuses.push(next.status, last.status, seen?.status ?? 0);
    for (let waited = 0; waited < 20; waited += 1) {
      await pause(10);
      if ((await counts()).reserved === 0) break;
      clock.advance(1_000);
    }
    clock.advance(REAPED_AFTER_MS);
    const { charged, reserved } = await counts();
    const answered = statuses.filter((status) => status === 200).length;
    return { cell, frozen: seen, next, last, charged, reserved, answered };
  } finally {
    await environment.close();
  }
};

export const cellsAt = (moments: Moment[]): Cell[] =>
  moments.flatMap((moment, at) =>
    LENGTHS_MS.flatMap((ms) =>
      CUTS.flatMap((cut) =>
        (['runs', 'stands still'] as const).map((monotonic, n) => ({
          ...{ moment, ms, cut, monotonic },
          isStream: (at + n) % 2 === 0,
        })),
      ),
    ),
  );

/** In `npm test` each moment twice or more and each length with each cut and clock, in `npm run test:all` each moment with each length. */
export const sampleOf = (cells: Cell[]): Cell[] => {
  const step = checksAll ? 5 : 11;
  return cells.filter((_, at) => at % step === 0);
};

export const titleOf = ({ moment, ms, cut, monotonic, isStream }: Cell): string =>
  `${moment}, ${ms} ms, ${cut}, the monotonic clock ${monotonic}, streamed ${isStream}`;

const isOfTable = ({ moment }: Cell) => / of /.test(moment);
/** The provider has responded, and its connection is idle. */
const comesAfterProvider = ({ moment }: Cell) =>
  moment === 'UpdateItem of records 1' || moment === 'UpdateItem of meters 2';

/**
 * Whether a connection to the provider that died within its last minute is used: what is sent to it is acknowledged by
 * this test's network, so that it cannot be told from one whose provider is slow, and the limit of the first content ends
 * it (black-hole.test.ts has a network that acknowledges nothing).
 */
const meetsDeadProvider = ({ ms, cut }: Cell): boolean => ms < MINUTE_MS && cut === 'silence';

/** Whether the request's minute has closed meanwhile, and its invocation has ended on Lambda. */
const isOutOfTime = ({ ms }: Cell): boolean => ms >= 15 * MINUTE_MS;

type Expected = { statuses: number[]; ms: number };

const AT_ONCE: Expected = { statuses: [200], ms: 2_500 };
const FIRST_CONTENT_LATE: Expected = { statuses: [504, 0], ms: 40_000 };

/** Of the request that was frozen. Its status is 0 if its stream ended with an error. */
const expectedOfFrozen = (cell: Cell): Expected => {
  const { moment, cut } = cell;
  if (isOfTable(cell) && !comesAfterProvider(cell)) {
    if (meetsDeadProvider(cell)) return FIRST_CONTENT_LATE;
    return { statuses: isOutOfTime(cell) ? [200, 503] : [200], ms: 4_000 };
  }
  if (isOfTable(cell)) return { statuses: [200], ms: 4_000 };
  if (moment === 'the provider has the request') {
    return cut === 'reset' ? { statuses: [200], ms: 2_500 } : FIRST_CONTENT_LATE;
  }
  return { statuses: [502, 504, 0], ms: 70_000 };
};

const expectedOfNext = (cell: Cell): Expected => {
  const isFirst = cell.moment === IDLE || cell.moment === LEFT_BEHIND || comesAfterProvider(cell);
  return isFirst && meetsDeadProvider(cell) ? FIRST_CONTENT_LATE : AT_ONCE;
};

/** What the outcome of a cell has against the promises. */
export const complaintsOf = ({ cell, frozen, next, last, ...units }: Outcome): string[] => {
  const { charged, reserved, answered } = units;
  const keeps = (seen: { status: number; ms: number }, { statuses, ms }: Expected) =>
    statuses.includes(seen.status) && seen.ms <= ms;
  const promises: [boolean, string][] = [
    [
      !frozen || keeps({ ...frozen, ms: frozen.ms - cell.ms }, expectedOfFrozen(cell)),
      `the frozen request: ${frozen?.status} after ${frozen?.ms} ms`,
    ],
    [keeps(next, expectedOfNext(cell)), `the next request: ${next.status} after ${next.ms} ms`],
    [keeps(last, AT_ONCE), `the one after it: ${last.status} after ${last.ms} ms`],
    [next.calls <= 1 && last.calls === 1, `${next.calls} and ${last.calls} calls of the provider`],
    // A unit is given back 17 minutes after its reservation.
    [charged === answered || (isOutOfTime(cell) && charged === answered - 1), `${charged} charged`],
    [reserved === 0, `${reserved} reserved`],
  ];
  return promises.filter(([isKept]) => !isKept).map(([, text]) => `${titleOf(cell)}: ${text}`);
};
