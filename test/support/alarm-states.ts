import type { Template } from 'aws-cdk-lib/assertions';
import * as z from 'zod';
import { compileMath, type Value } from './metric-math.ts';

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
  TreatMissingData: z.literal('notBreaching'),
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
  if (values.length === 0) return undefined;
  if (stat === 'Sum') return values.reduce((sum, value) => sum + value, 0);
  if (stat === 'Maximum') return Math.max(...values);
  if (/^p\d+$/.test(stat)) return percentile(values, Number(stat.slice(1)));
  throw new Error(`unknown statistic ${stat}`);
};

/** The value of a metric in the period that begins at `from`. */
const readPeriod = (points: DataPoint[], read: Read, from: number): Value => {
  const series = seriesOf(read);
  const to = from + read.Period * 1000;
  const within = points.filter((one) => one.series === series && one.at >= from && one.at < to);
  return statisticOf(
    within.map(({ value }) => value),
    read.Stat,
  );
};

/** Value of an alarm's metric or expression in one period; undefined if no metric has data. */
const createValueOf = (properties: unknown, { Metrics, ...alarm }: Alarm) => {
  if (!Metrics) {
    const Stat = alarm.Statistic ?? alarm.ExtendedStatistic;
    const read = Read.parse({ Metric: Metric.parse(properties), Period: alarm.Period, Stat });
    return {
      seconds: read.Period,
      at: (points: DataPoint[], from: number) => readPeriod(points, read, from),
    };
  }
  const reads = Metrics.flatMap((one) => ('MetricStat' in one ? [one] : []));
  const [expression, ...more] = Metrics.flatMap((one) => ('Expression' in one ? [one] : []));
  const periods = new Set(reads.map(({ MetricStat }) => MetricStat.Period));
  const [seconds = 0] = periods;
  if (!expression || more.length > 0 || periods.size !== 1) throw new Error(alarm.AlarmName);
  const evaluate = compileMath(expression.Expression);
  const at = (points: DataPoint[], from: number): Value => {
    const values = new Map(
      reads.map(({ Id, MetricStat }) => [Id, readPeriod(points, MetricStat, from)]),
    );
    if ([...values.values()].every((value) => value === undefined)) return undefined;
    return evaluate((name) => {
      if (!values.has(name)) throw new Error(`unknown variable ${name} in ${alarm.AlarmName}`);
      return values.get(name);
    });
  };
  return { seconds, at };
};

/** Whether the alarm is in ALARM at `now`, the end of its last period. */
const isFiring = (properties: unknown, points: DataPoint[], now: number): boolean => {
  const alarm = Alarm.parse(properties);
  const { seconds, at } = createValueOf(properties, alarm);
  const starts = Array.from(
    { length: alarm.EvaluationPeriods },
    (_, back) => now - (back + 1) * seconds * 1000,
  );
  const breaching = starts.filter(
    (from) => (at(points, from) ?? Number.NEGATIVE_INFINITY) > alarm.Threshold,
  );
  return breaching.length >= alarm.DatapointsToAlarm;
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

/** Evaluates the alarms of a synthesized template. */
export const createAlarmStates = (template: Template) => {
  const alarms = Object.entries(template.findResources('AWS::CloudWatch::Alarm'));
  const composites = Object.values(template.findResources('AWS::CloudWatch::CompositeAlarm'));
  const names = [...alarms.map(([, one]) => one), ...composites].map(({ Properties }) =>
    idOf(z.object({ AlarmName: z.string() }).parse(Properties).AlarmName),
  );
  return {
    /** Ids of all alarms, sorted. */
    ids: names.toSorted(),
    /** Ids of the alarms that are in ALARM at `now`, sorted. */
    firing: (points: DataPoint[], now: number): string[] => {
      const firing = new Map(
        alarms
          .filter(([, { Properties }]) => isFiring(Properties, points, now))
          .map(([logicalId, { Properties }]) => [
            logicalId,
            idOf(Alarm.parse(Properties).AlarmName),
          ]),
      );
      const above = composites
        .map(({ Properties }) => Composite.parse(Properties))
        .filter(({ AlarmRule }) => inputsOf(AlarmRule).some((input) => firing.has(input)))
        .map(({ AlarmName }) => idOf(AlarmName));
      return [...firing.values(), ...above].toSorted();
    },
  };
};
