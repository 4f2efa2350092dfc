import type { MetricSums, UsageSums } from '../stores/history-store.ts';
import type { RecordEntry, RequestRecord } from '../stores/record-store.ts';
import { bucketCountsOf } from '../support/latency-bounds.ts';
import { SUM_NAMES } from './sums.ts';

/** Names of one kind; what further ones add is added up as `OTHER`. */
const MAX_NAMES = 100;
export const OTHER = 'other';

/**
 * What the lists of numbers are: `usage` of a model, in the order of `SUM_NAMES`; `duration` and `first` content of a model:
 * count, sum in ms, and counts of the buckets; calls of a `target` that were answered, and that failed; requests that ended in
 * an `error`.
 */
export const KINDS = ['usage', 'duration', 'first', 'target', 'error'] as const;
export type MetricKind = (typeof KINDS)[number];

const keyOf = (kind: MetricKind, name: string): string => `${kind}|${name}`;

export const namesOf = (sums: MetricSums, kind: MetricKind): [name: string, sums: number[]][] =>
  Object.entries(sums).flatMap(([key, numbers]) =>
    key.startsWith(`${kind}|`) ? [[key.slice(kind.length + 1), numbers]] : [],
  );

const addTo = (sums: MetricSums, kind: MetricKind, name: string, more: readonly number[]): void => {
  const own = keyOf(kind, name);
  const isListed = sums[own] !== undefined || namesOf(sums, kind).length < MAX_NAMES;
  const key = isListed ? own : keyOf(kind, OTHER);
  const numbers = sums[key] ?? [];
  sums[key] = numbers;
  for (let at = 0; at < more.length; at += 1) numbers[at] = (numbers[at] ?? 0) + (more[at] ?? 0);
};

/** Adds all of `more`, in place. */
export const addMetrics = (sums: MetricSums, more: MetricSums): void => {
  for (const kind of KINDS) {
    for (const [name, numbers] of namesOf(more, kind)) addTo(sums, kind, name, numbers);
  }
};

const histogramOf = (ms: number): number[] => [1, ms, ...bucketCountsOf([ms])];

const addRecord = (sums: MetricSums, record: RequestRecord): void => {
  const { model, ms, isStream, firstContentMs, outcome, error } = record;
  addTo(sums, 'duration', model, histogramOf(ms));
  if (isStream && firstContentMs !== undefined) {
    addTo(sums, 'first', model, histogramOf(firstContentMs));
  }
  for (const attempt of record.attempts) {
    const target = `${attempt.upstream}/${attempt.model}`;
    addTo(sums, 'target', target, attempt.error === undefined ? [1, 0] : [0, 1]);
  }
  if (outcome === 'failed') addTo(sums, 'error', error ?? outcome, [1]);
};

/** Adds an entry of a day, whose part of the usage is known. */
export const addEntry = (
  sums: MetricSums,
  entry: RecordEntry,
  { model, usage }: { model: string; usage: UsageSums },
): void => {
  addTo(
    ...[sums, 'usage' as const, model],
    SUM_NAMES.map((name) => usage[name]),
  );
  if ('record' in entry) addRecord(sums, entry.record);
};
