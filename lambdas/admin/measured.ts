import { explain, explainAttempt, isFault } from '../records/explain.ts';
import type { RequestRecord } from '../stores/record-store.ts';
import { dollarsOf } from '../support/public-usage.ts';
import type { Operation, OperationParts } from './operation.ts';
import { projectsSeenBy } from './projects.ts';
import { nanosOfAttempt, readRecent, targetOf } from './recent.ts';

/** What requests of a model did, or their calls of a target. */
type Measure<Names> = {
  names: Names;
  requests: number;
  failed: number;
  costNanos: number;
  firstContents: number[];
};

const publicMeasure = <Names>(measure: Measure<Names>) => {
  const { names, requests, failed, costNanos, firstContents } = measure;
  const sorted = firstContents.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return {
    ...names,
    ...{ requests, failed, cost_usd: dollarsOf(costNanos) },
    /** Of streamed responses; null without one. */
    first_content_ms: sorted.length === 0 ? null : { p50: at(0.5), p95: at(0.95), p99: at(0.99) },
  };
};

type Counted = { isFault: boolean; costNanos: number; firstContentMs: number | undefined };

const createMeasures = <Names extends object>() => {
  const all = new Map<string, Measure<Names>>();
  return {
    add: (names: Names, { isFault, costNanos, firstContentMs }: Counted): void => {
      const name = JSON.stringify(names);
      const empty = { names, requests: 0, failed: 0, costNanos: 0, firstContents: [] };
      const measure = all.get(name) ?? empty;
      all.set(name, measure);
      measure.requests += 1;
      measure.failed += isFault ? 1 : 0;
      measure.costNanos += costNanos;
      if (firstContentMs !== undefined) measure.firstContents.push(firstContentMs);
    },
    rows: () => [...all.values()].map(publicMeasure),
  };
};

const measure = (records: readonly RequestRecord[]) => {
  const models = createMeasures<{ model: string }>();
  const targets = createMeasures<{ model: string; target: string }>();
  for (const record of records) {
    const { model, isStream, firstContentMs, costNanos = 0, attempts } = record;
    models.add(
      { model },
      {
        isFault: isFault(explain(record)),
        costNanos,
        firstContentMs: isStream ? firstContentMs : undefined,
      },
    );
    for (const [index, attempt] of attempts.entries()) {
      targets.add(
        { model, target: targetOf(attempt) },
        {
          isFault: isFault(explainAttempt(attempt)),
          costNanos: nanosOfAttempt(record, index),
          firstContentMs: isStream && attempt.error === undefined ? attempt.ms : undefined,
        },
      );
    }
  }
  return { models: models.rows(), targets: targets.rows() };
};

/** Latency, failures and cost by model and by target, of the newest requests. */
export const createMeasureTargets = ({ records, projects, clock }: OperationParts) => {
  const measured = (async ({ identity }) => {
    const ids = await projectsSeenBy(projects, identity);
    const { found, isAll, since } = await readRecent(records.listRecords, ids, clock.now());
    const body = { of_requests: found.length, is_all: isAll, since, ...measure(found) };
    return { status: 200, body };
  }) satisfies Operation<'targets.measured'>;
  return { 'targets.measured': measured };
};
