import { publicKinds } from '../money/cost.ts';
import type { Attempt, Choice, Passed, RequestRecord } from '../stores/record-store.ts';
import { formatInstant } from '../support/clock.ts';
import { omitUndefined } from '../support/objects.ts';
import { dollarsOf, publicUsage } from '../support/public-usage.ts';
import { explain, whyCharged } from './explain.ts';
import { explainCache, type TurnBefore, targetOf } from './explain-cache.ts';

const failureOf = ({ error, status, reason }: Attempt): string =>
  [error === 'status' ? `status ${status}` : error, reason].filter(Boolean).join(': ');

const linesOf = (attempt: Attempt): string[] => {
  const { upstream, model, startedMs, ms, brokeMs, error } = attempt;
  const called = `+${startedMs} ms  ${upstream}/${model} called`;
  const failedAt = (after: number) =>
    `+${startedMs + after} ms  ${upstream} failed: ${failureOf(attempt)}`;
  if (error !== undefined && brokeMs === undefined) return [called, failedAt(ms)];
  const began = `+${startedMs + ms} ms  ${upstream} sent its first content`;
  return [called, began, ...(brokeMs === undefined ? [] : [failedAt(brokeMs)])];
};

const endOf = ({ outcome, finish, isCut, error, status }: RequestRecord): string => {
  if (outcome === 'abandoned') return 'client disconnected';
  if (outcome === 'failed') {
    return status === 200 ? `stream ended with an error: ${error}` : `status ${status} sent`;
  }
  return `finished (${isCut ? 'ended early' : (finish ?? 'no reason given')})`;
};

/** The request from its start to its end, a line for each step. */
const timelineOf = (record: RequestRecord): string[] => [
  `+0 ms  received for ${record.model} over ${record.protocol}`,
  ...record.attempts.flatMap(linesOf),
  `+${record.ms} ms  ${endOf(record)}, ${whyCharged(record)}`,
];

const publicAttempt = (attempt: Attempt, isWithReason: boolean) => {
  const { startedMs, brokeMs, reason, inputTokens, outputTokens, costNanos, ...rest } = attempt;
  return {
    ...rest,
    started_ms: startedMs,
    ...omitUndefined({
      broke_ms: brokeMs,
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      cost_usd: costNanos === undefined ? undefined : dollarsOf(costNanos),
    }),
    ...(isWithReason && omitUndefined({ reason })),
  };
};

const usageOf = (record: RequestRecord) =>
  omitUndefined({
    estimated_input_tokens: record.estimatedInputTokens,
    ...publicUsage<number | undefined>(record),
    cache_write_long_tokens: record.cacheWriteLongTokens,
  });

const kindsOf = ({ costKinds = {}, priceVersion }: RequestRecord) => ({
  cost_by_kind: publicKinds(costKinds),
  price_version: priceVersion ?? null,
});

const ORDERED = {
  only: 'No other target could carry the request.',
  require: 'No other target meets what its plan or key requires.',
  order: 'It is the first of the model in the catalog.',
  tier: 'It is the first of its tier.',
  weight: 'The session of the request falls to it by the weights of its tier.',
  speed: 'It is one of the fastest of its tier.',
  price: 'It is the cheapest of its tier.',
  session: 'It served the session of the request before.',
  waited: 'None had room in its quota, and it was the first to have some.',
  failover: 'It is the next in order.',
} satisfies Record<Choice, string>;

const PASSED: Record<Passed, string> = {
  capacity: 'had no room left in its quota',
  failed: 'failed',
  held: 'was held off after failures',
};

const passedText = (passed: NonNullable<RequestRecord['passed']>): string =>
  `${passed.map(([target, why]) => `${target} ${PASSED[why]}`).join('; ')}.`;

/** Dollars of a model's prices have up to three digits that differ, milliseconds none behind the point. */
const figuresText = (choice: Choice | undefined, compared: Record<string, number>): string => {
  const textOf =
    choice === 'price' ? (usd: number) => `$${+usd.toFixed(4)}` : (ms: number) => `${ms} ms`;
  const list = Object.entries(compared).map(([target, figure]) => `${target} ${textOf(figure)}`);
  const of =
    choice === 'price'
      ? 'A million tokens, three of input to one of output'
      : 'Median to the first content';
  return list.length > 0 ? `${of}: ${list.join(', ')}.` : '';
};

/** A model with one target leaves no choice. */
const ONLY_ONE = 'It is the only one of its model.';

const whyTarget = ({ choice, passed, attempts, compared = {} }: RequestRecord) =>
  [
    passed && passedText(passed),
    choice ? ORDERED[choice] : passed ? 'None was called.' : attempts.length > 0 && ONLY_ONE,
    (choice === 'speed' || choice === 'price') && figuresText(choice, compared),
  ]
    .filter(Boolean)
    .join(' ') || undefined;

/** Nothing of a request for which no target was called, and of a plan without a policy. */
const choiceIn = (record: RequestRecord) =>
  omitUndefined({ why_target: whyTarget(record), required: record.require });

/** With the turn before it in its session, if that is known, and with the provider's words. */
type Asked = { before: TurnBefore | undefined; isWithReason: boolean };

/** For whom it was, as its caller named it. */
export const whoOf = ({ who }: RequestRecord) => ({
  user: who?.user ?? null,
  session: who?.session ?? null,
  agent: who?.agent ?? null,
  client: who?.client ?? null,
  tags: Object.fromEntries(who?.tags?.map((tag) => tag.split(/=(.*)/, 2)) ?? []),
});

/** One line of a list. */
export const summaryOf = (record: RequestRecord) => ({
  id: record.id,
  created_at: formatInstant(record.startedAt),
  project: record.projectId,
  key: record.keyId,
  model: record.model,
  streamed: record.isStream,
  status: record.status,
  outcome: record.outcome,
  error: record.error ?? null,
  whose_fault: explain(record).blame,
  target: targetOf(record),
  charged: record.isCharged,
  ms: record.ms,
  first_content_ms: record.firstContentMs ?? null,
  cost_usd: record.costNanos === undefined ? null : dollarsOf(record.costNanos),
  cost_source: record.costSource ?? null,
  cost_incomplete: record.costIncomplete ?? [],
  loop: record.isLoop ?? false,
  ...whoOf(record),
});

const detailsOf = (record: RequestRecord, { before, isWithReason }: Asked) => {
  const { what, next } = explain(record);
  return {
    ...summaryOf(record),
    plan: record.planId,
    protocol: record.protocol,
    finish_reason: record.finish ?? null,
    what,
    charged_why: whyCharged(record),
    next,
    usage: usageOf(record),
    cache_marks: record.marking?.by ?? null,
    cache_marks_why: record.marking?.why ?? null,
    cache_miss_reason: record.cacheMissReason ?? null,
    ...kindsOf(record),
    cache: explainCache(record, before),
    ...choiceIn(record),
    attempts: record.attempts.map((attempt) => publicAttempt(attempt, isWithReason)),
    timeline: timelineOf(isWithReason ? record : withoutReasons(record)),
    traceparent: record.traceparent ?? null,
  };
};

/** What is left of the operator's accounts is the operator's. */
const withoutLimits = ({ compared, ...record }: RequestRecord): RequestRecord => ({
  ...record,
  ...(record.choice !== 'price' && omitUndefined({ compared })),
  attempts: record.attempts.map(({ limits: _, ...attempt }) => attempt),
});

const withoutReasons = (record: RequestRecord): RequestRecord => ({
  ...record,
  attempts: record.attempts.map(({ reason: _, ...attempt }) => attempt),
});

/** What the key's own project may see: the provider's words only if the request caused the failure. */
export const recordForCaller = (record: RequestRecord, before: Asked['before']) => ({
  object: 'request',
  ...detailsOf(withoutLimits(record), {
    ...{ before, isWithReason: explain(record).blame === 'caller' },
  }),
});

/** What an operator sees: all of it, with the runbook. */
export const recordForOperator = (record: RequestRecord, before: Asked['before']) => ({
  ...detailsOf(record, { before, isWithReason: true }),
  meter: record.meterId,
  period: record.period,
  aws_request_id: record.awsRequestId ?? null,
  runbook: explain(record).runbook ?? null,
});
