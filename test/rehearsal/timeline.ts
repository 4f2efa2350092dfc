import type { MetricName } from '../../lambdas/metrics.ts';
import type { Random } from '../simulation/random.ts';
import type { DataPoint } from '../support/alarm-states.ts';
import type { Asked, RehearsalStage } from './stage.ts';

const SECOND = 1_000;
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** Requests are `everyMs` apart. At 50 a second the lines of one a second count fifty times. */
export const RATES = {
  '1 in 90 s': { everyMs: 90 * SECOND, factor: 1 },
  '1/s': { everyMs: SECOND, factor: 1 },
  '50/s': { everyMs: SECOND, factor: 50 },
} as const;
export type Rate = keyof typeof RATES;

/** Requests that are made at a stage. */
export type Requests = {
  /** Prepares the stage for a request. */
  begin?: (stage: RehearsalStage, index: number) => void | Promise<void>;
  asked?: (index: number) => Asked;
  /** What is written after the response, once its retries have failed. */
  awaits?: MetricName;
};

/** A failure that lasts. */
export type Failure = Requests & {
  title: string;
  minutes: number;
  /**
   * The lines of so many requests stand for all, because none depends on an earlier one. Without it each is served at its
   * instant, since breakers decide by time.
   */
  cycle?: number;
  /**
   * Minutes of requests at 1/s, whose lines are repeated: as long as a breaker stays open.
   * @default 1
   */
  sample?: number;
  /** In place of requests, what AWS counts of one: no local run makes it. */
  byHand?: DataPoint[];
  /** The alarms that fire, once each, and end. No other one may. */
  alarms: Record<Rate, string[]>;
};

/** Start of a simulated time; the failure begins at `FAILS`, and alarms are evaluated from `WATCHED` on. */
export const START = Date.UTC(2026, 10, 21);
export const WATCHED = START + 6 * HOUR;
export const FAILS = WATCHED + HOUR;
/** The longest evaluation range is four hours. */
const QUIET = 5 * HOUR;
export const endOf = (minutes: number): number => FAILS + minutes * MINUTE + QUIET;

/** Alarms read what is counted by stage only. */
const isOfStage = ({ series }: DataPoint): boolean => / Stage=prod$/.test(series);

/** What Lambda counts of a request that it does not throttle. */
export const invocation = (at = 0): DataPoint => ({
  ...{ series: 'AWS/Lambda Invocations RouterFunction', at, value: 1 },
});

export const moved = (points: DataPoint[], ms: number, factor = 1): DataPoint[] =>
  points.map(({ series, at, value }) => ({ series, at: at + ms, value: value * factor }));

/** One after another at instants of the stage, which never go back: breakers and caches outlive a failure. */
export const createServer = (stage: RehearsalStage) => {
  let day = START;
  const settled = async (awaits: MetricName | undefined): Promise<DataPoint[]> => {
    const points: DataPoint[] = [];
    for (;;) {
      points.push(...stage.takePoints().filter(isOfStage));
      const isComplete = !awaits || points.some(({ series }) => series.includes(` ${awaits} `));
      if (isComplete) return points;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  return {
    /** Points of `count` requests that are `everyMs` apart; the first is at 0. */
    serve: async (
      { begin, asked, awaits }: Requests,
      { count, everyMs, from = 0 }: { count: number; everyMs: number; from?: number },
    ): Promise<DataPoint[]> => {
      const points: DataPoint[] = [];
      for (let index = 0; index < count; index += 1) {
        await begin?.(stage, index);
        const at = day + from + index * everyMs;
        await stage.ask(at, asked?.(index));
        points.push(invocation(at), ...(await settled(awaits)));
      }
      return moved(points, -day);
    },
    /** The next failure begins another day, with a stage that does not fail. */
    reset: async (): Promise<void> => {
      stage.upstreams.reset();
      stage.proxy.decide(() => 'none');
      await stage.restoreSecret();
    },
    nextDay: (): void => {
      day += 24 * HOUR;
    },
  };
};
type Server = ReturnType<typeof createServer>;

/** Points of requests that are all alike but for the cycle that they repeat, from one instant to another. */
export const repeated = (
  cycle: DataPoint[][],
  { everyMs, factor }: { everyMs: number; factor: number },
  [from, to]: [number, number],
): DataPoint[] => {
  const points: DataPoint[] = [];
  const total = Math.ceil((to - from) / everyMs);
  for (let first = 0; first < total; ) {
    const minute = Math.floor((from + first * everyMs) / MINUTE) * MINUTE;
    const next = Math.min(total, Math.ceil((minute + MINUTE - from) / everyMs));
    cycle.forEach((one, place) => {
      const before = Math.ceil((first - place) / cycle.length);
      const times = Math.ceil((next - place) / cycle.length) - before;
      if (times > 0)
        points.push(...moved(one, 0, times * factor).map((point) => ({ ...point, at: minute })));
    });
    first = next;
  }
  return summed(points);
};

/** One point for each series and minute. */
const summed = (points: DataPoint[]): DataPoint[] => {
  const sums = new Map<string, DataPoint>();
  for (const { series, at, value } of points) {
    const minute = Math.floor(at / MINUTE) * MINUTE;
    const key = `${minute} ${series}`;
    const sum = sums.get(key);
    if (sum) sum.value += value;
    else sums.set(key, { series, at: minute, value });
  }
  return [...sums.values()];
};

/** The hourly run of the history, from one instant to another. */
export const hourlyRuns = (run: DataPoint[], [from, to]: [number, number]): DataPoint[] => {
  const points: DataPoint[] = [];
  for (let hour = from; hour < to; hour += HOUR) {
    for (const one of run) points.push({ ...one, at: hour + 25 * MINUTE });
  }
  return points;
};

const sampleOf = ({ minutes, sample = 1 }: Pick<Failure, 'minutes' | 'sample'>, everyMs: number) =>
  (everyMs > SECOND ? minutes : Math.min(minutes, sample)) * MINUTE;

const RECOVERY_REQUESTS = 20;

/** Points of a failure by request, or by instant with those of the first requests that succeed again. */
export type Served = { cycle: DataPoint[][] } | { sample: DataPoint[]; recovery: DataPoint[] };

/** Serves a failure for a rate; what does not depend on the rate is served once. */
export const createServe = (server: Server) => {
  const served = new Map<string, Promise<Served>>();
  const serve = async (failure: Failure, { everyMs }: { everyMs: number }): Promise<Served> => {
    if (failure.byHand) return { cycle: [failure.byHand] };
    server.nextDay();
    if (failure.cycle !== undefined) {
      const cycle: DataPoint[][] = [];
      for (let index = 0; index < failure.cycle; index += 1) {
        const begin: Requests['begin'] = (stage) => failure.begin?.(stage, index);
        const from = index * everyMs;
        cycle.push(await server.serve({ ...failure, begin }, { count: 1, everyMs, from }));
      }
      await server.reset();
      return { cycle };
    }
    const length = failure.minutes * MINUTE;
    const count = sampleOf(failure, everyMs) / everyMs;
    const sample = await server.serve(failure, { count, everyMs });
    await server.reset();
    const later = { count: RECOVERY_REQUESTS, everyMs, from: length };
    return { sample, recovery: await server.serve({}, later) };
  };
  return (failure: Failure, rate: Rate): Promise<Served> => {
    const key = `${failure.title} ${failure.cycle === undefined && RATES[rate].everyMs}`;
    const known = served.get(key) ?? serve(failure, RATES[rate]);
    served.set(key, known);
    return known;
  };
};

/** Requests at irregular intervals, the same ones for the same random numbers. */
export const irregular = (
  cycle: DataPoint[][],
  { everyMs, random }: { everyMs: number; random: Random },
  [from, to]: [number, number],
): DataPoint[] => {
  const points: DataPoint[] = [];
  const gap = () => -Math.log(1 - random.between(0, 999_999) / 1_000_000) * everyMs;
  for (let at = from + gap(), index = 0; at < to; at += gap(), index += 1) {
    points.push(...moved(cycle[index % cycle.length] ?? [], 0).map((one) => ({ ...one, at })));
  }
  return summed(points);
};

/** Points of a whole simulated time: traffic that succeeds, the failure, and traffic that succeeds again. */
export const simulate = (
  { success, run }: { success: DataPoint[]; run: DataPoint[] },
  failed: Served,
  { minutes, sample = 1 }: Pick<Failure, 'minutes' | 'sample'>,
  rate: Rate,
): DataPoint[] => {
  const { everyMs, factor } = RATES[rate];
  const [end, over] = [endOf(minutes), FAILS + minutes * MINUTE];
  const usual = [
    ...hourlyRuns(run, [START, end]),
    ...repeated([success], RATES[rate], [START, FAILS]),
  ];
  if ('cycle' in failed) {
    const failing = repeated(failed.cycle, RATES[rate], [FAILS, over]);
    return [...usual, ...failing, ...repeated([success], RATES[rate], [over, end])];
  }
  const failing: DataPoint[] = [];
  const length = sampleOf({ minutes, sample }, everyMs);
  for (let from = FAILS; from < over; from += length) {
    failing.push(...moved(failed.sample, from, factor));
  }
  const recovered = over + RECOVERY_REQUESTS * everyMs;
  return [
    ...usual,
    ...summed(failing),
    ...summed(moved(failed.recovery, FAILS, factor)),
    ...repeated([success], RATES[rate], [recovered, end]),
  ];
};
