import type { RefusedRequest, RequestRecord } from '../stores/record-store.ts';
import type { Log } from '../support/log.ts';
import { attributesOf } from './attributes.ts';
import { metricsOf } from './metrics.ts';
import { type AddressOf, refusedSpan, SCHEMA_URL, type Span, spansOf } from './spans.ts';

/** What is exported. `isFirst`: it is not a later revision of a record, which corrects a span and adds to no metric. */
export type Entry = { record: RequestRecord; isFirst: boolean } | { refused: RefusedRequest };

/** A collector's answer; `retryAfterMs` is what it asks for. */
export type Answer = { status: number; body: string; retryAfterMs?: number | undefined };

/** Sends a JSON text to a path below the collector's address. @throws if there is no answer */
export type Post = (path: '/v1/traces' | '/v1/metrics', body: string) => Promise<Answer>;

/** The collector did not take the entries and may later: they have to be exported again. */
export class CollectorUnavailable extends Error {
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    options: { cause?: unknown; retryAfterMs?: number | undefined } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'CollectorUnavailable';
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Statuses that OTLP calls retryable, and those of a credential, which an operator corrects. */
const RETRYABLE = [401, 403, 408, 429, 502, 503, 504];

type Rejection = { rejectedSpans?: unknown; rejectedDataPoints?: unknown };

/** How many entries a 200 says that it did not take. */
const rejectedIn = (body: string): number => {
  try {
    const { partialSuccess = {} }: { partialSuccess?: Rejection } = JSON.parse(body || '{}');
    return Number(partialSuccess.rejectedSpans ?? partialSuccess.rejectedDataPoints ?? 0) || 0;
  } catch {
    return 0;
  }
};

export type ExporterParts = {
  post: Post;
  addressOf: AddressOf;
  stage: string;
  version: string;
  log: Log;
};

/**
 * Exports entries as spans and metrics. What the collector rejects for what it is (another 4xx, or part of a 200) is dropped,
 * counted and logged; everything else is exported again. A repeated span has the same ids; metrics are sent after the spans,
 * and once unless their own answer was lost.
 * @throws CollectorUnavailable
 */
export const createExporter = ({ post, addressOf, stage, version, log }: ExporterParts) => {
  const resource = {
    attributes: attributesOf({
      'service.name': 'model-router',
      'service.version': version,
      'deployment.environment.name': stage,
    }),
  };
  const scope = { name: 'model-router', version };

  const send = async (path: Parameters<Post>[0], body: object, count: number): Promise<void> => {
    const answer = await post(path, JSON.stringify(body)).catch((cause: unknown) => {
      throw new CollectorUnavailable('The collector did not answer.', { cause });
    });
    const { status, retryAfterMs } = answer;
    if (RETRYABLE.includes(status) || status >= 500) {
      throw new CollectorUnavailable(`The collector answered ${status}.`, { retryAfterMs });
    }
    const dropped = status >= 200 && status < 300 ? rejectedIn(answer.body) : count;
    if (dropped > 0) log.error('otlp_dropped', { count: dropped, status });
  };

  const sendSpans = async (spans: Span[]): Promise<void> => {
    if (spans.length === 0) return;
    const scopeSpans = [{ scope, spans, schemaUrl: SCHEMA_URL }];
    await send('/v1/traces', { resourceSpans: [{ resource, scopeSpans }] }, spans.length);
  };

  const sendMetrics = async (records: RequestRecord[]): Promise<void> => {
    if (records.length === 0) return;
    const scopeMetrics = [{ scope, metrics: metricsOf(records), schemaUrl: SCHEMA_URL }];
    await send('/v1/metrics', { resourceMetrics: [{ resource, scopeMetrics }] }, records.length);
  };

  return async (entries: readonly Entry[]): Promise<void> => {
    await sendSpans(
      entries.flatMap((entry) =>
        'record' in entry ? spansOf(entry.record, addressOf) : [refusedSpan(entry.refused)],
      ),
    );
    await sendMetrics(
      entries.flatMap((entry) => ('record' in entry && entry.isFirst ? [entry.record] : [])),
    );
  };
};
