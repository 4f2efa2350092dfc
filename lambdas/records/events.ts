import type { RequestRecord } from '../stores/record-store.ts';
import { decimalOf } from '../support/decimal.ts';
import { omitUndefined } from '../support/objects.ts';
import { whoOf } from './public-record.ts';

/** What billing systems and warehouses take, one for each request that took a unit. */
export const EVENT_FORMS = ['cloudevents', 'openmeter', 'stripe', 'ndjson'] as const;
export type EventForm = (typeof EVENT_FORMS)[number];

/** What a meter of Stripe counts. */
export const METERS = ['cost', 'tokens', 'requests'] as const;
export type Meter = (typeof METERS)[number];

const SOURCE = '/model-router';
const TYPE = 'model_router.request';

const costOf = ({ costNanos = 0 }: RequestRecord): string => decimalOf(BigInt(costNanos), 9);

const tokensOf = ({ inputTokens = 0, outputTokens = 0 }: RequestRecord): number =>
  inputTokens + outputTokens;

/** One level of names, numbers and decimal texts, which all of them read. */
const dataOf = (record: RequestRecord) => {
  const last = record.attempts.at(-1);
  const { who } = record;
  return omitUndefined({
    project: record.projectId,
    key: record.keyId,
    ...{ user: who?.user, session: who?.session, agent: who?.agent, client: who?.client },
    tags: who?.tags?.join(','),
    model: record.model,
    provider: last?.upstream,
    provider_model: last?.model,
    status: record.status,
    outcome: record.outcome,
    charged_units: record.isCharged ? 1 : 0,
    input_tokens: record.inputTokens ?? 0,
    output_tokens: record.outputTokens ?? 0,
    cache_read_tokens: record.cacheReadTokens ?? 0,
    cache_write_tokens: record.cacheWriteTokens ?? 0,
    total_tokens: tokensOf(record),
    cost_usd: costOf(record),
    cost_source: record.costSource,
    cost_incomplete: record.costIncomplete?.join(' '),
  });
};

/** CloudEvents 1.0: the same `id` and `source` are the same event. */
const cloudEventOf = (record: RequestRecord, subject: string) => ({
  specversion: '1.0',
  id: record.id,
  source: SOURCE,
  type: TYPE,
  subject,
  time: new Date(record.startedAt).toISOString(),
  datacontenttype: 'application/json',
  data: dataOf(record),
});

/** Whole numbers: millionths of a dollar, rounded half up. */
const countOf = (record: RequestRecord, meter: Meter): number => {
  if (meter === 'tokens') return tokensOf(record);
  if (meter === 'requests') return record.isCharged ? 1 : 0;
  return Math.floor(((record.costNanos ?? 0) + 500) / 1_000);
};

/** A meter event of Stripe, for a customer that is the project until it is replaced; none of 0. */
const meterEventsOf = (record: RequestRecord, meter: Meter) => {
  const value = countOf(record, meter);
  if (value === 0) return [];
  return [
    {
      event_name: `model_router_${meter}`,
      identifier: `${record.id}-${meter}`,
      timestamp: Math.floor(record.startedAt / 1_000),
      payload: { stripe_customer_id: record.projectId, value: String(value) },
    },
  ];
};

/** With quantity and cost of each kind, in billionths of a dollar. */
const lineOf = (record: RequestRecord) => ({
  id: record.id,
  time: new Date(record.startedAt).toISOString(),
  day: record.day,
  ms: record.ms,
  plan: record.planId,
  protocol: record.protocol,
  streamed: record.isStream,
  ...dataOf(record),
  ...whoOf(record),
  error: record.error ?? null,
  finish_reason: record.finish ?? null,
  reasoning_tokens: record.reasoningTokens ?? 0,
  attempts: record.attempts.length,
  kinds: Object.entries(record.costKinds ?? {}).map(([kind, [quantity, nanos]]) => ({
    ...{ kind, quantity, cost_nanos: nanos },
  })),
  price_version: record.priceVersion ?? null,
  traceparent: record.traceparent ?? null,
});

/** The events of a request in a form. The identifier of each is the request's id, so that a repeat counts once. */
export const eventsOf = (record: RequestRecord, form: EventForm, meter: Meter): object[] => {
  switch (form) {
    case 'cloudevents':
      return [cloudEventOf(record, `${record.projectId}/${record.keyId}`)];
    case 'openmeter':
      return [cloudEventOf(record, record.projectId)];
    case 'stripe':
      return meterEventsOf(record, meter);
    case 'ndjson':
      return [lineOf(record)];
  }
};
