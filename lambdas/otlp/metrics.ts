import type { RequestRecord } from '../stores/record-store.ts';
import { bucketCountsOf, LATENCY_BOUNDS_MS } from '../support/latency-bounds.ts';
import { type Attribute, attributesOf, nanosOf } from './attributes.ts';

const DELTA = 1;
const BOUNDS = LATENCY_BOUNDS_MS.map((ms) => ms / 1_000);

/** What a counter adds of a record; undefined: nothing is known, and nothing is added. */
type Counter = { name: string; unit: string; of(record: RequestRecord): number | undefined };

const tokens = (kind: string, of: Counter['of']): Counter => ({
  name: `gen_ai.client.inference.usage.${kind}`,
  unit: '{token}',
  of,
});

const COUNTERS: Counter[] = [
  tokens('input_tokens', (one) => one.inputTokens),
  tokens('output_tokens', (one) => one.outputTokens),
  tokens('cache_read.input_tokens', (one) => one.cacheReadTokens),
  tokens('cache_write.input_tokens', (one) => one.cacheWriteTokens),
  tokens('reasoning.output_tokens', (one) => one.reasoningTokens),
  { name: 'model_router.requests', unit: '{request}', of: () => 1 },
  { name: 'model_router.charged_units', unit: '{unit}', of: (one) => (one.isCharged ? 1 : 0) },
  { name: 'model_router.cost.nanodollars', unit: '{nanodollar}', of: (one) => one.costNanos },
];

/** Of milliseconds, sent in seconds. */
type Histogram = { name: string; of(record: RequestRecord): number | undefined };

const HISTOGRAMS: Histogram[] = [
  { name: 'gen_ai.client.inference.duration', of: (one) => one.ms },
  {
    name: 'gen_ai.client.inference.time_to_first_chunk',
    of: (one) => (one.isStream ? one.firstContentMs : undefined),
  },
];

/** Few values each: names of the catalog, projects, kinds of errors. */
const dimensionsOf = (record: RequestRecord): Attribute[] => {
  const last = record.attempts.at(-1);
  return attributesOf({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': last?.upstream,
    'gen_ai.request.model': record.model,
    'gen_ai.response.model': last?.model,
    'error.type': record.outcome === 'failed' ? (record.error ?? 'failed') : undefined,
    'model_router.project': record.projectId,
  });
};

type Group = { attributes: Attribute[]; records: RequestRecord[] };

/** Records of equal dimensions. */
const groupsOf = (records: readonly RequestRecord[]): Group[] => {
  const groups = new Map<string, Group>();
  for (const record of records) {
    const attributes = dimensionsOf(record);
    const name = JSON.stringify(attributes);
    const group = groups.get(name) ?? { attributes, records: [] };
    group.records.push(record);
    groups.set(name, group);
  }
  return [...groups.values()];
};

/** Of what is known; a time of a clock that was set back counts as 0. */
const known = (values: (number | undefined)[]): number[] =>
  values.flatMap((value) => (value === undefined ? [] : [Math.max(value, 0)]));

const timesOf = (records: readonly RequestRecord[]) => ({
  startTimeUnixNano: nanosOf(Math.min(...records.map(({ startedAt }) => startedAt))),
  timeUnixNano: nanosOf(
    Math.max(...records.map(({ startedAt, ms }) => startedAt + Math.max(ms, 0))),
  ),
});

const counterOf = ({ name, unit, of }: Counter, groups: Group[]) => ({
  name,
  unit,
  sum: {
    aggregationTemporality: DELTA,
    isMonotonic: true,
    dataPoints: groups.flatMap(({ attributes, records }) => {
      const values = known(records.map(of));
      if (values.length === 0) return [];
      const sum = values.reduce((total, value) => total + BigInt(value), 0n);
      return [{ attributes, ...timesOf(records), asInt: `${sum}` }];
    }),
  },
});

const histogramOf = ({ name, of }: Histogram, groups: Group[]) => ({
  name,
  unit: 's',
  histogram: {
    aggregationTemporality: DELTA,
    dataPoints: groups.flatMap(({ attributes, records }) => {
      const values = known(records.map(of));
      if (values.length === 0) return [];
      const sum = values.reduce((total, value) => total + value, 0);
      return [
        {
          ...{ attributes, ...timesOf(records), count: String(values.length) },
          ...{ sum: sum / 1_000, min: Math.min(...values) / 1_000 },
          ...{ max: Math.max(...values) / 1_000, explicitBounds: BOUNDS },
          bucketCounts: bucketCountsOf(values).map(String),
        },
      ];
    }),
  },
});

/** What the records add to each metric, as deltas: several exporters add up. */
export const metricsOf = (records: readonly RequestRecord[]) => {
  const groups = groupsOf(records);
  const counters = COUNTERS.map((counter) => counterOf(counter, groups));
  const histograms = HISTOGRAMS.map((histogram) => histogramOf(histogram, groups));
  return [
    ...counters.filter(({ sum }) => sum.dataPoints.length > 0),
    ...histograms.filter(({ histogram }) => histogram.dataPoints.length > 0),
  ];
};
