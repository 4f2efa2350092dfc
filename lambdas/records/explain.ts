import { NO_HEALTHY_TARGET } from '../log-events.ts';
import type { RequestRecord } from '../stores/record-store.ts';

/** Who can prevent the failure next time; `none` if the request did not fail. */
export type Blame = 'none' | 'caller' | 'provider' | 'operator' | 'router';

/** What happened to a request, in words. */
export type Explanation = {
  blame: Blame;
  /** One sentence. */
  what: string;
  /** What to do next. */
  next: string;
  /** Anchor of a runbook in docs/operations.md. */
  runbook?: string;
};

const RETRY = 'Send the request again. Nothing was charged.';
const ASK_OPERATOR = 'Repeating it does not help until the operator has acted.';

const CREDENTIAL: Explanation = {
  blame: 'operator',
  what: "The provider rejected the router's credential, or its account lacks access or money.",
  next: ASK_OPERATOR,
  runbook: 'upstream-credential-refused',
};

const UNKNOWN_MODEL: Explanation = {
  blame: 'operator',
  what: 'The provider does not offer the model or the route that the catalog names.',
  next: ASK_OPERATOR,
  runbook: 'upstream-model-unknown',
};

const BROKEN: Explanation = {
  blame: 'provider',
  what: "The provider's response broke off or was not understandable.",
  next: RETRY,
  runbook: 'no-healthy-target',
};

const SILENT: Explanation = {
  blame: 'provider',
  what: 'The provider sent nothing for too long.',
  next: RETRY,
  runbook: 'no-healthy-target',
};

const REJECTED: Explanation = {
  blame: 'caller',
  what: "The model's provider rejected the request.",
  next: 'Correct the request: the error that was sent names the field, if the provider does.',
};

const UNREACHABLE: Explanation = {
  blame: 'provider',
  what: 'No connection to the provider, or it was lost before any content.',
  next: RETRY,
  runbook: 'no-healthy-target',
};

const OVERFLOW: Explanation = {
  blame: 'caller',
  what: "The prompt is longer than the model's context.",
  next: 'Shorten the conversation, or choose a model with a larger context.',
};

/** By kind of an upstream's failure, with its HTTP status where that means more than "unavailable". */
const BY_ERROR: Record<string, Explanation> = {
  credential: {
    blame: 'operator',
    what: "The router has no usable credential for the provider: the secret's field is missing or invalid.",
    next: ASK_OPERATOR,
    runbook: 'secret-fetch-failed',
  },
  deadline: {
    blame: 'provider',
    what: 'The time of the request was used up before the provider sent content.',
    next: 'Lower max_tokens or the reasoning effort, or stream the response.',
    runbook: 'deadline-cuts',
  },
  connect: UNREACHABLE,
  reset: UNREACHABLE,
  'first-event-timeout': SILENT,
  'idle-timeout': SILENT,
  malformed: BROKEN,
  truncated: BROKEN,
  'error-event': BROKEN,
  'credential-refused': CREDENTIAL,
  'no-quota': {
    blame: 'operator',
    what: "The router's account at the provider has no money or quota left.",
    next: ASK_OPERATOR,
    runbook: 'upstream-no-quota',
  },
  'unknown-model': UNKNOWN_MODEL,
  redirect: {
    blame: 'operator',
    what: "The provider's address redirects to another one, which the router does not follow.",
    next: ASK_OPERATOR,
    runbook: 'no-healthy-target',
  },
  [NO_HEALTHY_TARGET]: {
    blame: 'provider',
    what: 'Every target of the model had failed before and was not called.',
    next: 'Send the request again after the time in retry-after. Nothing was charged.',
    runbook: 'no-healthy-target',
  },
  'status 400': REJECTED,
  'status 401': CREDENTIAL,
  'status 402': CREDENTIAL,
  'status 403': CREDENTIAL,
  'status 404': UNKNOWN_MODEL,
  'status 413': REJECTED,
  'status 422': REJECTED,
  'status 429': {
    blame: 'provider',
    what: "The router's limit at the provider was reached.",
    next: RETRY,
    runbook: 'no-healthy-target',
  },
  status: {
    blame: 'provider',
    what: 'The provider failed.',
    next: RETRY,
    runbook: 'no-healthy-target',
  },
};

const ROUTER: Explanation = {
  blame: 'router',
  what: 'The router failed to process the request.',
  next: RETRY,
  runbook: 'server-errors',
};

const OVERFLOWS = ['context-overflow', 'context_length_exceeded'];

const explainFailure = ({ status, error, attempts }: RequestRecord): Explanation => {
  if (OVERFLOWS.includes(error ?? '')) return OVERFLOW;
  // The request is the cause where the caller got a 4xx, with any status of the provider.
  if (status >= 400 && status <= 422) return REJECTED;
  const last = attempts.findLast((attempt) => attempt.error === error);
  const specific = last?.status === undefined ? undefined : BY_ERROR[`${error} ${last.status}`];
  return specific ?? BY_ERROR[error ?? ''] ?? ROUTER;
};

const explainFinished = (record: RequestRecord): Explanation => {
  const { isCharged, isChargeLost, isCut, attempts } = record;
  if (isChargeLost) {
    return {
      blame: 'none',
      what: 'The request was answered, and its unit could not be charged: it is free.',
      next: 'Nothing to do.',
      runbook: 'refund-pending',
    };
  }
  if (!isCharged) {
    return {
      blame: 'provider',
      what: 'The provider ended its response properly, but without any content.',
      next: 'Send the request again, or change it: some providers answer so to a prompt that asks for nothing.',
    };
  }
  const next = 'Nothing to do.';
  if (isCut) {
    const what =
      'The response was ended early because its time or size was used up; what was sent is usable.';
    return {
      blame: 'none',
      what,
      next: 'Lower max_tokens, or stream the response.',
      runbook: 'deadline-cuts',
    };
  }
  const failed = attempts.filter(({ error }) => error !== undefined).length;
  if (failed === 0) return { blame: 'none', what: 'The request was answered.', next };
  const what = `The request was answered after ${failed} failed ${failed === 1 ? 'attempt' : 'attempts'} on other targets.`;
  return { blame: 'none', what, next };
};

export const explain = (record: RequestRecord): Explanation => {
  if (record.outcome === 'finished') return explainFinished(record);
  if (record.outcome === 'failed') return explainFailure(record);
  return {
    blame: 'caller',
    what: record.isCharged
      ? 'The client disconnected after the first content.'
      : 'The client disconnected before the first content.',
    next: 'If this was not intended, raise the timeout of the client, or stream the response.',
  };
};

/** Why the request cost a unit, or why not. */
export const whyCharged = ({ isCharged, isChargeLost, outcome, isCut }: RequestRecord): string => {
  if (isChargeLost) return 'not charged: the charge could not be written';
  if (isCharged) {
    if (outcome === 'abandoned') return 'charged: the client disconnected after the first content';
    return isCut
      ? 'charged: the response was ended early, with content'
      : 'charged: the response finished';
  }
  if (outcome === 'finished') return 'not charged: the response was empty';
  if (outcome === 'abandoned')
    return 'not charged: the client disconnected before the first content';
  return 'not charged: the request failed';
};
