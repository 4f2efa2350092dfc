import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import root from '@opentelemetry/otlp-transformer/build/src/generated/root.js';
import { onTestFinished } from 'vitest';
import * as z from 'zod';

/**
 * A collector that takes what the published definitions of OTLP and these rules allow in JSON, member by member, and answers
 * 400 to anything else. https://github.com/open-telemetry/opentelemetry-proto: 64-bit numbers are texts, ids hexadecimal, enums numbers.
 */
const Int64 = z.string().regex(/^\d{1,19}$/);
const Nanos = z.string().regex(/^1\d{18}$/);
const hex = (digits: number) =>
  z
    .string()
    .regex(new RegExp(`^[0-9a-f]{${digits}}$`))
    .refine((id) => /[^0]/.test(id));

const Scalar = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ intValue: Int64 }),
  z.strictObject({ doubleValue: z.number() }),
  z.strictObject({ boolValue: z.boolean() }),
]);
const AnyValue = z.union([
  Scalar,
  z.strictObject({ arrayValue: z.strictObject({ values: z.array(Scalar) }) }),
]);
const Attributes = z
  .array(z.strictObject({ key: z.string().min(1), value: AnyValue }))
  .refine((list) => new Set(list.map(({ key }) => key)).size === list.length, 'keys are unique');
const Resource = z.strictObject({ attributes: Attributes });
const Scope = z.strictObject({ name: z.string(), version: z.string() });

const Span = z
  .strictObject({
    traceId: hex(32),
    spanId: hex(16),
    parentSpanId: hex(16).optional(),
    name: z.string().min(1),
    kind: z.int().min(1).max(5),
    startTimeUnixNano: Nanos,
    endTimeUnixNano: Nanos,
    attributes: Attributes,
    status: z.strictObject({ code: z.int().min(0).max(2), message: z.string().optional() }),
  })
  .refine((span) => BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano));
export type Span = z.infer<typeof Span>;

const ofPoint = { attributes: Attributes, startTimeUnixNano: Nanos, timeUnixNano: Nanos };
const Sum = z.strictObject({
  aggregationTemporality: z.literal(1),
  isMonotonic: z.literal(true),
  dataPoints: z.array(z.strictObject({ ...ofPoint, asInt: Int64 })).min(1),
});
const HistogramPoint = z
  .strictObject({
    ...ofPoint,
    count: Int64,
    sum: z.number(),
    min: z.number(),
    max: z.number(),
    bucketCounts: z.array(Int64),
    explicitBounds: z.array(z.number()),
  })
  .refine(
    (point) =>
      point.bucketCounts.length === point.explicitBounds.length + 1 &&
      point.bucketCounts.reduce((sum, count) => sum + Number(count), 0) === Number(point.count),
  );
const Histogram = z.strictObject({
  aggregationTemporality: z.literal(1),
  dataPoints: z.array(HistogramPoint).min(1),
});
const ofMetric = { name: z.string().min(1), unit: z.string() };
const Metric = z.union([
  z.strictObject({ ...ofMetric, sum: Sum }),
  z.strictObject({ ...ofMetric, histogram: Histogram }),
]);
export type Metric = z.infer<typeof Metric>;

const Traces = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: Resource,
      scopeSpans: z.array(
        z.strictObject({ scope: Scope, spans: z.array(Span).min(1), schemaUrl: z.url() }),
      ),
    }),
  ),
});
const Metrics = z.strictObject({
  resourceMetrics: z.array(
    z.strictObject({
      resource: Resource,
      scopeMetrics: z.array(
        z.strictObject({ scope: Scope, metrics: z.array(Metric).min(1), schemaUrl: z.url() }),
      ),
    }),
  ),
});

type Definition = {
  fromObject(body: object): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): unknown;
};
const { collector: definitions } = (
  root as unknown as {
    opentelemetry: {
      proto: {
        collector: {
          trace: { v1: { ExportTraceServiceRequest: Definition } };
          metrics: { v1: { ExportMetricsServiceRequest: Definition } };
        };
      };
    };
  }
).opentelemetry.proto;

/** What the published protobuf definitions read of a request; a member that they lack is missing in it. */
const readByDefinition = (path: string, body: object): unknown => {
  const definition =
    path === '/v1/traces'
      ? definitions.trace.v1.ExportTraceServiceRequest
      : definitions.metrics.v1.ExportMetricsServiceRequest;
  const bytes = definition.encode(definition.fromObject(body)).finish();
  // Ids are hexadecimal in JSON: read as base64, they come out as the same text.
  return definition.toObject(definition.decode(bytes), { longs: String, bytes: String });
};

const valuesOf = (attributes: Span['attributes']): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** What happens to a request instead of an answer of 200. */
type Trouble = (response: ServerResponse) => void;

/** Starts a collector; `trouble` is asked for each request. */
export const startCollector = async (port = 0) => {
  const spans = new Map<string, Span>();
  const metrics: Metric[] = [];
  const faults: string[] = [];
  const headers: Record<string, unknown>[] = [];
  let trouble: Trouble | undefined;

  const take = (path: string, body: object): void => {
    assert.deepEqual(readByDefinition(path, body), body);
    if (path === '/v1/traces') {
      for (const { scopeSpans } of Traces.parse(body).resourceSpans) {
        for (const span of scopeSpans.flatMap((one) => one.spans)) spans.set(span.spanId, span);
      }
    } else if (path === '/v1/metrics') {
      for (const { scopeMetrics } of Metrics.parse(body).resourceMetrics) {
        metrics.push(...scopeMetrics.flatMap((one) => one.metrics));
      }
    } else {
      throw new Error(`There is no path ${path}.`);
    }
  };

  const server = createServer(async (request, response) => {
    const body = await text(request.pipe(createGunzip()));
    if (trouble) return trouble(response);
    try {
      headers.push(request.headers);
      take(request.url ?? '', JSON.parse(body));
      response.end('{}');
    } catch (error) {
      faults.push(String(error));
      response.writeHead(400).end('{}');
    }
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What no definition allows. */
    faults,
    headers,
    /** Those of requests, without the calls of targets below them. */
    requests: () =>
      [...spans.values()].filter(
        ({ attributes }) => 'model_router.request.id' in valuesOf(attributes),
      ),
    spans: () => [...spans.values()],
    attributesOf: (span: Span) => valuesOf(span.attributes),
    /** Sum of a counter. */
    total: (name: string): number =>
      metrics
        .flatMap((metric) => (metric.name === name && 'sum' in metric ? metric.sum.dataPoints : []))
        .reduce((sum, { asInt }) => sum + Number(asInt), 0),
    /** Names of all attributes and metrics. */
    names: () => [
      ...new Set([
        ...[...spans.values()].flatMap(({ attributes }) => attributes.map(({ key }) => key)),
        ...metrics.map(({ name }) => name),
      ]),
    ],
    answerWith: (next: Trouble | undefined) => {
      trouble = next;
    },
  };
};
