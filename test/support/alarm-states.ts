import type { Template } from 'aws-cdk-lib/assertions';
import * as z from 'zod';
import { type AlarmRule, type AlarmState, evaluateAlarm } from './alarm-rule.ts';
import { compileMath, PERIOD, type Value } from './metric-math.ts';

/** One data point of one series, as CloudWatch stores it. */
export type DataPoint = {
  /** Namespace, name and, for the router's metrics, dimensions: `ModelRouter Requests Stage=prod`. */
  series: string;
  /** Milliseconds since the epoch. */
  at: number;
  value: number;
};

const Metric = z.object({
  Namespace: z.string(),
  MetricName: z.string(),
  Dimensions: z.array(z.object({ Name: z.string(), Value: z.unknown() })).default([]),
});
const Read = z.object({ Metric, Period: z.int(), Stat: z.string() });
const Alarm = z.object({
  AlarmName: z.string(),
  Threshold: z.number(),
  ComparisonOperator: z.literal('GreaterThanThreshold'),
  EvaluationPeriods: z.int(),
  DatapointsToAlarm: z.int(),
  TreatMissingData: z.enum(['notBreaching', 'breaching', 'ignore']),
  Metrics: z
    .array(
      z.union([
        z.object({ Id: z.string(), MetricStat: Read }),
        z.object({ Id: z.string(), Expression: z.string() }),
      ]),
    )
    .optional(),
  Period: z.int().optional(),
  Statistic: z.string().optional(),
  ExtendedStatistic: z.string().optional(),
});
type Alarm = z.infer<typeof Alarm>;
type Read = z.infer<typeof Read>;

/** The construct of a function in a dimension, without the hash of its logical id. */
const functionIn = (name: string, value: unknown): string[] => {
  const { success, data } = z.object({ Ref: z.string() }).safeParse(value);
  return success && name === 'FunctionName' ? [data.Ref.slice(0, -8)] : [];
};

/** Of the references that AWS metrics have as dimensions only functions count; alarms.test.ts checks all. */
const seriesOf = ({ Metric: { Namespace, MetricName, Dimensions } }: Read): string => {
  const labels = Dimensions.flatMap(({ Name, Value }) =>
    typeof Value === 'string' ? [`${Name}=${Value}`] : [],
  );
  const functions = Dimensions.flatMap(({ Name, Value }) => functionIn(Name, Value));
  return [Namespace, MetricName, ...(Namespace.startsWith('AWS/') ? functions : labels)].join(' ');
};

const percentile = (values: number[], rank: number): Value =>
  values.toSorted((a, b) => a - b)[Math.ceil((rank / 100) * values.length) - 1];

const statisticOf = (values: number[], stat: string): Value => {
  if (stat === 'Maximum') return Math.max(...values);
  if (/^p\d+$/.test(stat)) return percentile(values, Number(stat.slice(1)));
  throw new Error(`unknown statistic ${stat}`);
};

const MINUTE = 60_000;

/**
 * What AWS does not publish: by how many points the evaluation range is longer than the points that are evaluated, and
 * whether FILL has a value where no metric of the expression has one. The alarms have to be right with either.
 */
export type Unpublished = { extraPeriods: number; fillsEmpty: boolean };

type OneSeries = {
  /** Sums and counts of all points before a minute, from the first minute on. */
  sums: Float64Array;
  counts: Uint32Array;
  /** The values of each minute. */
  values: number[][];
};

/** The points of a series by the minute in which they were written, as CloudWatch keeps them. */
const seriesOfPoints = (points: DataPoint[], first: number, length: number): OneSeries => {
  const sums = new Float64Array(length + 1);
  const counts = new Uint32Array(length + 1);
  const values: number[][] = [];
  for (const { at, value } of points) {
    const minute = Math.floor(at / MINUTE) - first;
    sums[minute + 1] = (sums[minute + 1] ?? 0) + value;
    counts[minute + 1] = (counts[minute + 1] ?? 0) + 1;
    values[minute] ??= [];
    values[minute].push(value);
  }
  for (let minute = 1; minute <= length; minute += 1) {
    sums[minute] = (sums[minute] ?? 0) + (sums[minute - 1] ?? 0);
    counts[minute] = (counts[minute] ?? 0) + (counts[minute - 1] ?? 0);
  }
  return { sums, counts, values };
};

/** Statistics of the minutes from `from` to `to`, which is not included. */
const createStatistics = (points: DataPoint[]) => {
  const minutes = points.map(({ at }) => Math.floor(at / MINUTE));
  const first = minutes.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
  const length = 1 + minutes.reduce((one, other) => Math.max(one, other), first) - first;
  const bySeries = new Map(
    [...Map.groupBy(points, ({ series }) => series)].map(([name, own]) => [
      name,
      seriesOfPoints(own, first, length),
    ]),
  );
  const within = (minute: number) => Math.min(length, Math.max(0, minute - first));
  return (name: string, stat: string, [from, to]: [number, number]): Value => {
    const series = bySeries.get(name);
    if (!series) return undefined;
    const [begin, end] = [within(from), within(to)];
    if (series.counts[begin] === series.counts[end]) return undefined;
    if (stat === 'Sum') return (series.sums[end] ?? 0) - (series.sums[begin] ?? 0);
    return statisticOf(series.values.slice(begin, end).flat(), stat);
  };
};
type Statistics = ReturnType<typeof createStatistics>;

type Metered = {
  seconds: number;
  /** The value where FILL has one without data, and whether no metric of the expression has data. */
  valueAt: (statistics: Statistics, end: number) => { value: Value; isEmpty: boolean };
};

/** Value of a metric in the period that ends with the minute `end`. */
const meter = (read: Read) => {
  const name = seriesOf(read);
  const { Period: seconds, Stat } = read;
  return {
    seconds,
    valueAt: (statistics: Statistics, end: number): Value =>
      statistics(name, Stat, [end - seconds / 60, end]),
  };
};

/** Value of an alarm's metric or expression in one period; undefined: no data. */
const meterOf = (properties: unknown, { Metrics, ...alarm }: Alarm): Metered => {
  if (!Metrics) {
    const Stat = alarm.Statistic ?? alarm.ExtendedStatistic;
    const only = meter(
      Read.parse({ Metric: Metric.parse(properties), Period: alarm.Period, Stat }),
    );
    const valueAt: Metered['valueAt'] = (...at) => ({ value: only.valueAt(...at), isEmpty: false });
    return { seconds: only.seconds, valueAt };
  }
  const reads = Metrics.flatMap((one) =>
    'MetricStat' in one ? [{ id: one.Id, ...meter(one.MetricStat) }] : [],
  );
  const [expression, ...more] = Metrics.flatMap((one) => ('Expression' in one ? [one] : []));
  const periods = new Set(reads.map(({ seconds }) => seconds));
  const [seconds = 0] = periods;
  if (!expression || more.length > 0 || periods.size !== 1) throw new Error(alarm.AlarmName);
  const evaluate = compileMath(expression.Expression);
  const valueAt: Metered['valueAt'] = (statistics, end) => {
    const values = new Map(reads.map((one) => [one.id, one.valueAt(statistics, end)]));
    const isEmpty = [...values.values()].every((value) => value === undefined);
    const value = evaluate((name) => {
      if (name === PERIOD) return (end - seconds / 60) * MINUTE;
      if (!values.has(name)) throw new Error(`unknown variable ${name} in ${alarm.AlarmName}`);
      return values.get(name);
    });
    return { value, isEmpty };
  };
  return { seconds, valueAt };
};

/** Alarms on metrics of DynamoDB keep their state without data, whatever they are set to. */
const ruleOf = (alarm: Alarm, namespace: string | undefined): AlarmRule => ({
  datapoints: alarm.DatapointsToAlarm,
  periods: alarm.EvaluationPeriods,
  threshold: alarm.Threshold,
  treatMissing: namespace === 'AWS/DynamoDB' ? 'ignore' : alarm.TreatMissingData,
});

const Namespaced = z.object({ Namespace: z.string() });
const compileAlarm = ([logicalId, { Properties }]: [string, { Properties?: unknown }]) => {
  const alarm = Alarm.parse(Properties);
  const rule = ruleOf(alarm, Namespaced.safeParse(Properties).data?.Namespace);
  return { logicalId, id: idOf(alarm.AlarmName), rule, ...meterOf(Properties, alarm) };
};
type CompiledAlarm = ReturnType<typeof compileAlarm>;

/** The state of one alarm at the end of each minute: its window slides, so it is evaluated every minute. */
const statesOf = (
  { rule, seconds, valueAt }: CompiledAlarm,
  statistics: Statistics,
  [from, to]: [from: number, to: number],
) => {
  const length = seconds / 60;
  const known = new Map<number, ReturnType<Metered['valueAt']>>();
  const at = (end: number, fillsEmpty: boolean): Value => {
    let one = known.get(end);
    if (!one) {
      one = valueAt(statistics, end);
      known.set(end, one);
    }
    return one.isEmpty && !fillsEmpty ? undefined : one.value;
  };
  return ({ extraPeriods, fillsEmpty }: Unpublished): AlarmState[] => {
    const points = rule.periods + extraPeriods;
    let state: AlarmState = 'OK';
    return Array.from({ length: to - from }, (_, minute) => {
      const range: Value[] = [];
      for (let back = points - 1; back >= 0; back -= 1) {
        range.push(at(from + minute + 1 - back * length, fillsEmpty));
      }
      state = evaluateAlarm(range, rule, state);
      return state;
    });
  };
};

const Composite = z.object({
  AlarmName: z.string(),
  AlarmRule: z.object({ 'Fn::Join': z.tuple([z.literal(''), z.array(z.unknown())]) }),
});
const Arn = z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.literal('Arn')]) });

/** Logical ids of a composite alarm's inputs, any of which makes it fire. */
const inputsOf = (rule: z.infer<typeof Composite>['AlarmRule']): string[] => {
  const [, parts] = rule['Fn::Join'];
  const ids = parts.flatMap((part) =>
    typeof part === 'string' ? [] : [Arn.parse(part)['Fn::GetAtt'][0]],
  );
  const operators = parts.filter((part) => typeof part === 'string').join('X');
  if (!/^\(ALARM\("X"\)(?: OR ALARM\("X"\))*\)$/.test(operators)) throw new Error(operators);
  return ids;
};

const idOf = (AlarmName: string): string => AlarmName.replace(/^Router-/, '');

/** How often each alarm changed its state, and which are still in ALARM at the end. */
export type Outcome = { changes: Record<string, number>; inAlarm: string[] };

const changesIn = (states: AlarmState[]): number =>
  states.filter((state, minute) => state !== (states[minute - 1] ?? 'OK')).length;

/** Evaluates the alarms of a synthesized template. */
export const createAlarmStates = (template: Template) => {
  const alarms = Object.entries(template.findResources('AWS::CloudWatch::Alarm')).map(compileAlarm);
  const composites = Object.values(template.findResources('AWS::CloudWatch::CompositeAlarm')).map(
    ({ Properties }) => {
      const { AlarmName, AlarmRule: rule } = Composite.parse(Properties);
      return { id: idOf(AlarmName), inputs: inputsOf(rule) };
    },
  );
  const outcomeOf = (byLogicalId: Map<string, AlarmState[]>): Outcome => {
    const states = new Map(
      alarms.map(({ logicalId, id }) => [id, byLogicalId.get(logicalId) ?? []]),
    );
    for (const { id, inputs } of composites) {
      const all = inputs.map((input) => byLogicalId.get(input) ?? []);
      const above = all[0]?.map(
        (_, minute): AlarmState => (all.some((one) => one[minute] === 'ALARM') ? 'ALARM' : 'OK'),
      );
      states.set(id, above ?? []);
    }
    const changed = [...states]
      .map(([id, all]) => [id, changesIn(all)] as const)
      .filter(([, count]) => count > 0);
    return {
      changes: Object.fromEntries(changed),
      inAlarm: [...states].flatMap(([id, all]) => (all.at(-1) === 'ALARM' ? [id] : [])),
    };
  };
  return {
    /** Ids of all alarms, sorted. */
    ids: [...alarms, ...composites].map(({ id }) => id).toSorted(),
    /** What the alarms do from one instant (ms) to another, for each way of AWS; all are OK before. */
    run: (
      points: DataPoint[],
      [from, to]: [number, number],
      unpublished: Unpublished[],
    ): Outcome[] => {
      const minutes: [number, number] = [Math.floor(from / MINUTE), Math.floor(to / MINUTE)];
      const statistics = createStatistics(points);
      const all = alarms.map((alarm) => ({
        logicalId: alarm.logicalId,
        states: statesOf(alarm, statistics, minutes),
      }));
      return unpublished.map((way) =>
        outcomeOf(new Map(all.map(({ logicalId, states }) => [logicalId, states(way)]))),
      );
    },
  };
};
