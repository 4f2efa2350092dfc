import { createHash } from 'node:crypto';
import type { Attempt, RefusedRequest, RequestRecord } from '../stores/record-store.ts';
import { RESPONSE_PREFIXES } from '../support/ids.ts';
import { type Attribute, attributesOf, nanosOf, seconds } from './attributes.ts';

/** Version of OpenTelemetry's GenAI conventions, which name what begins with `gen_ai.`; their schema's address. */
export const SCHEMA_URL = 'https://opentelemetry.io/schemas/gen-ai/0.1.0';

/** Host and port of a target, by its upstream and the upstream's name of the model. */
export type AddressOf = (
  upstream: string,
  model: string,
) => { host: string; port: number } | undefined;

const KIND_CLIENT = 3;
const STATUS_OK = 1;
const STATUS_ERROR = 2;

/** A span in OTLP's JSON; ids in hexadecimal digits, instants in nanoseconds. */
export type Span = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Attribute[];
  status: { code: number; message?: string };
};

/** The same request has the same ids each time that it is exported. */
const hexOf = (name: string, digits: number): string =>
  createHash('sha256').update(name).digest('hex').slice(0, digits);

const TRACEPARENT = /^[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}/;

/** In the caller's trace, below its span, or in a separate trace. */
const placeOf = ({ id, traceparent = '' }: RequestRecord) => {
  const [, traceId = hexOf(id, 32), parentSpanId] = TRACEPARENT.exec(traceparent) ?? [];
  return { traceId, spanId: hexOf(`${id} span`, 16), ...(parentSpanId && { parentSpanId }) };
};

/** A clock that was set back while a request ran makes no span that ends before it starts: a collector rejects its whole batch. */
const timesOf = (startedAt: number, ms: number) => ({
  startTimeUnixNano: nanosOf(startedAt),
  endTimeUnixNano: nanosOf(startedAt + Math.max(ms, 0)),
});

const statusOf = (error: string | undefined, message?: string) =>
  error === undefined
    ? { code: STATUS_OK }
    : { code: STATUS_ERROR, message: message === undefined ? error : `${error}: ${message}` };

const answerIdOf = ({ id, protocol }: RequestRecord): string =>
  id.replace(/^req_/, RESPONSE_PREFIXES[protocol] ?? '');

/** What the conventions say of a session: never a hash. */
const conversationOf = ({ who }: RequestRecord): string | undefined =>
  who?.session?.startsWith('h_') ? undefined : who?.session;

const finishOf = ({ finish, outcome }: RequestRecord): string[] | undefined => {
  if (finish !== undefined) return [finish];
  return outcome === 'failed' ? ['error'] : undefined;
};

/** Input includes what was read from a cache and written to it; reasoning is part of the output. */
const usageOf = (record: RequestRecord) => ({
  'gen_ai.usage.input_tokens': record.inputTokens,
  'gen_ai.usage.output_tokens': record.outputTokens,
  'gen_ai.usage.cache_read.input_tokens': record.cacheReadTokens,
  'gen_ai.usage.cache_write.input_tokens': record.cacheWriteTokens,
  'gen_ai.usage.reasoning.output_tokens': record.reasoningTokens,
});

const ownAttributesOf = (record: RequestRecord) => ({
  'model_router.request.id': record.id,
  'model_router.project': record.projectId,
  'model_router.key': record.keyId,
  'model_router.plan': record.planId,
  'model_router.protocol': record.protocol,
  'model_router.outcome': record.outcome,
  'model_router.charged_units': record.isCharged ? 1 : 0,
  'model_router.cost.nanodollars': record.costNanos,
  'model_router.cost.source': record.costSource,
  'model_router.cost.incomplete': record.costIncomplete,
  'model_router.user': record.who?.user,
  'model_router.session': record.who?.session,
  'model_router.agent': record.who?.agent,
  'model_router.client': record.who?.client,
  'model_router.tags': record.who?.tags,
});

const targetAttributesOf = ({ upstream, model }: Attempt, addressOf: AddressOf) => {
  const address = addressOf(upstream, model);
  return {
    'gen_ai.provider.name': upstream,
    'gen_ai.response.model': model,
    'server.address': address?.host,
    'server.port': address?.port,
  };
};

/** A call of a target, below the span of its request. */
const attemptSpan = (
  { id, startedAt, ms: requestMs, outcome }: RequestRecord,
  { attempt, index, isLast }: { attempt: Attempt; index: number; isLast: boolean },
  { traceId, spanId, addressOf }: { traceId: string; spanId: string; addressOf: AddressOf },
): Span => {
  const { startedMs, ms, brokeMs, error, status, reason } = attempt;
  // A target that responded did so until the end of the request.
  const lasted = brokeMs ?? (error === undefined && isLast ? requestMs - startedMs : ms);
  return {
    ...{ traceId, spanId: hexOf(`${id} attempt ${index}`, 16), parentSpanId: spanId },
    name: `chat ${attempt.model}`,
    kind: KIND_CLIENT,
    ...timesOf(startedAt + startedMs, lasted),
    attributes: attributesOf({
      'gen_ai.operation.name': 'chat',
      ...targetAttributesOf(attempt, addressOf),
      'gen_ai.usage.input_tokens': attempt.inputTokens,
      'gen_ai.usage.output_tokens': attempt.outputTokens,
      'error.type': error,
      'http.response.status_code': status,
      'model_router.cost.nanodollars': attempt.costNanos,
      'model_router.attempt': index + 1,
      'model_router.reason': reason,
    }),
    status: statusOf(error ?? (isLast && outcome === 'failed' ? 'failed' : undefined), reason),
  };
};

/** A request that took a unit, and a span for each call of a target below it. */
export const spansOf = (record: RequestRecord, addressOf: AddressOf): Span[] => {
  const { startedAt, ms, attempts, model, isStream, firstContentMs, status } = record;
  const place = placeOf(record);
  const last = attempts.at(-1);
  const error = record.outcome === 'failed' ? (record.error ?? 'failed') : undefined;
  const root: Span = {
    ...place,
    name: `chat ${model}`,
    kind: KIND_CLIENT,
    ...timesOf(startedAt, ms),
    attributes: attributesOf({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': model,
      'gen_ai.request.stream': isStream,
      'gen_ai.response.id': answerIdOf(record),
      ...(last && targetAttributesOf(last, addressOf)),
      'gen_ai.response.finish_reasons': finishOf(record),
      'gen_ai.response.time_to_first_chunk':
        isStream && firstContentMs !== undefined ? seconds(Math.max(firstContentMs, 0)) : undefined,
      ...usageOf(record),
      'gen_ai.conversation.id': conversationOf(record),
      'error.type': error,
      'http.response.status_code': status,
      ...ownAttributesOf(record),
      'model_router.reason': last?.reason,
      'model_router.aws_request_id': record.awsRequestId,
    }),
    status: statusOf(error, last?.reason),
  };
  const { traceId, spanId } = place;
  const children = attempts.map((attempt, index) => {
    const isLast = index === attempts.length - 1;
    return attemptSpan(record, { attempt, index, isLast }, { traceId, spanId, addressOf });
  });
  return [root, ...children];
};

export const refusedSpan = (refused: RefusedRequest): Span => {
  const { id, startedAt, ms, model, code, status, text } = refused;
  return {
    ...{ traceId: hexOf(id, 32), spanId: hexOf(`${id} span`, 16) },
    name: model === undefined ? 'chat' : `chat ${model}`,
    kind: KIND_CLIENT,
    ...timesOf(startedAt, ms),
    attributes: attributesOf({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': model,
      'error.type': code ?? String(status),
      'http.response.status_code': status,
      'model_router.request.id': id,
      'model_router.project': refused.projectId || undefined,
      'model_router.key': refused.keyId,
      'model_router.plan': refused.planId,
      'model_router.protocol': refused.protocol,
      'model_router.outcome': 'refused',
      'model_router.charged_units': 0,
      'model_router.refusal.rule': refused.rule,
      'model_router.refusal.limit': refused.limit,
    }),
    status: statusOf(code ?? String(status), text),
  };
};
