import type { RefusedRequest } from '../stores/record-store.ts';
import { formatInstant } from '../support/clock.ts';

const RAISE = 'or have the operator raise the limit of the key or its plan';

/** What to do by the status, unless the error's code or its rule says more. */
const NEXT: Record<string, string> = {
  400: 'Correct what the error names, and send the request again.',
  401: 'Send a key that is valid: its operator can look it up by its first characters.',
  402: `Wait until the period ends, ${RAISE}.`,
  403: 'Ask the operator for access.',
  404: 'Correct the path or the id.',
  413: 'Send a smaller body: leave out or shorten files and old turns.',
  429: `Retry after the time in retry-after, ${RAISE}.`,
  model_not_found: 'Use a model of GET /v1/models, or have the operator add it to the plan.',
  context_length_exceeded: 'Shorten the conversation, or choose a model with a larger context.',
  concurrency: `Retry when another request of the key has ended, ${RAISE}.`,
  quota_in_flight: 'Retry in a second: a request that fails gives its unit back.',
  rejected_requests_per_minute:
    'Stop the client that repeats rejected requests; the minute after it is free again.',
};

const nextOf = ({ status, code = '', rule = '' }: RefusedRequest): string =>
  NEXT[rule] ?? NEXT[code] ?? NEXT[status] ?? 'Correct the request as the error says.';

/** The same columns as those of a request that took a unit; project and key are empty if the key is not known. */
export const refusedSummaryOf = (refused: RefusedRequest) => ({
  id: refused.id,
  created_at: formatInstant(refused.startedAt),
  project: refused.projectId,
  key: refused.keyId ?? refused.keyStart ?? '',
  model: refused.model ?? '',
  streamed: false,
  status: refused.status,
  outcome: 'refused' as const,
  error: refused.code ?? null,
  whose_fault: 'caller' as const,
  target: null,
  charged: false,
  ms: refused.ms,
  first_content_ms: null,
});

/** What callers of its project and operators see of a refused request: which rule, at which value, and what to do. */
export const publicRefused = (refused: RefusedRequest) => {
  const { status, code, param, rule, limit, value, text, retryAfter, protocol, route, ms } =
    refused;
  const why = 'not charged: the request was refused before it took a unit';
  return {
    object: 'request',
    ...refusedSummaryOf(refused),
    plan: refused.planId ?? null,
    protocol,
    route: route ?? null,
    what: text,
    charged_why: why,
    next: nextOf(refused),
    rule: {
      name: rule ?? param ?? code ?? `status ${status}`,
      limit: limit ?? null,
      value: value ?? null,
      param: param ?? null,
      retry_after_seconds: retryAfter ?? null,
    },
    usage: {},
    cost_source: null,
    cost_incomplete: [],
    cache: null,
    attempts: [],
    timeline: [`+0 ms  received over ${protocol}`, `+${ms} ms  status ${status} sent, ${why}`],
  };
};
