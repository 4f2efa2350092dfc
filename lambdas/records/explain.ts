import { NO_HEALTHY_TARGET } from '../log-events.ts';
import type { Attempt, RequestRecord } from '../stores/record-store.ts';

/** Who can prevent the failure next time; `none` if the request did not fail. */
export const FAULTS = ['none', 'caller', 'provider', 'operator', 'router'] as const;

/** What happened to a request, in words. */
export type Explanation = {
  blame: (typeof FAULTS)[number];
  /** One sentence. */
  what: string;
  /** What to do next. */
  next: string;
  /** Anchor of a runbook in docs/operations.md. */
  runbook?: string;
};

const RETRY = 'Send the request again.';
const ASK_OPERATOR = 'Repeating it does not help until the operator has acted.';

const NO_TARGET = 'no-healthy-target';

const byProvider = (what: string, next = RETRY): Explanation => ({
  ...{ blame: 'provider', what, next, runbook: NO_TARGET },
});
const byOperator = (what: string, runbook: string): Explanation => ({
  ...{ blame: 'operator', what, next: ASK_OPERATOR, runbook },
});
const byCaller = (what: string, next: string): Explanation => ({ blame: 'caller', what, next });

const CREDENTIAL = byOperator(
  "The provider rejected the router's credential, or its account lacks access or money.",
  'upstream-credential-refused',
);
const UNKNOWN_MODEL = byOperator(
  'The provider does not offer the model or the route that the catalog names.',
  'upstream-model-unknown',
);
const BROKEN = byProvider("The provider's response broke off or was not understandable.");
const SILENT = byProvider('The provider sent nothing for too long.');
const REJECTED = byCaller(
  "The model's provider rejected the request.",
  'Correct the request: the error that was sent names the field, if the provider does.',
);
const UNREACHABLE = byProvider('No connection to the provider, or it was lost before any content.');
const OVERFLOW = byCaller(
  "The prompt is longer than the model's context.",
  'Shorten the conversation, or choose a model with a larger context.',
);

/** By kind of an upstream's failure, with its HTTP status where that means more than "unavailable". */
const BY_ERROR: Record<string, Explanation> = {
  credential: byOperator(
    "The router has no usable credential for the provider: the secret's field is missing or invalid.",
    'secret-fetch-failed',
  ),
  deadline: {
    ...byProvider(
      'The time of the request was used up before the provider sent content.',
      'Lower max_tokens or the reasoning effort, or stream the response.',
    ),
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
  'no-quota': byOperator(
    "The router's account at the provider has no money or quota left.",
    'upstream-no-quota',
  ),
  'unknown-model': UNKNOWN_MODEL,
  redirect: byOperator(
    "The provider's address redirects to another one, which the router does not follow.",
    NO_TARGET,
  ),
  [NO_HEALTHY_TARGET]: byProvider(
    'Every target of the model had failed before and was not called.',
    'Send the request again after the time in retry-after.',
  ),
  'status 400': REJECTED,
  'status 401': CREDENTIAL,
  'status 402': CREDENTIAL,
  'status 403': CREDENTIAL,
  'status 404': UNKNOWN_MODEL,
  'status 413': REJECTED,
  'status 422': REJECTED,
  'status 429': byProvider("The router's limit at the provider was reached."),
  status: byProvider('The provider failed.'),
};

const ROUTER: Explanation = {
  blame: 'router',
  what: 'The router failed to process the request.',
  next: RETRY,
  runbook: 'server-errors',
};

const OVERFLOWS = ['context-overflow', 'context_length_exceeded'];

const explainError = (error = '', status: number | undefined): Explanation => {
  if (OVERFLOWS.includes(error)) return OVERFLOW;
  return BY_ERROR[`${error} ${status}`] ?? BY_ERROR[error] ?? ROUTER;
};

const explainFailure = ({ status, error, attempts }: RequestRecord): Explanation => {
  if (OVERFLOWS.includes(error ?? '')) return OVERFLOW;
  // The request is the cause where the caller got a 4xx, with any status of the provider.
  if (status >= 400 && status <= 422) return REJECTED;
  const { status: got } = attempts.findLast((attempt) => attempt.error === error) ?? {};
  return explainError(error, got);
};

/** Whether something failed that its caller did not cause. */
export const isFault = ({ blame }: Explanation): boolean => blame !== 'none' && blame !== 'caller';

const NOTHING = 'Nothing to do.';

const answered = (what: string, next = NOTHING, runbook?: string): Explanation => ({
  ...{ blame: 'none', what, next },
  ...(runbook && { runbook }),
});

const explainFinished = (record: RequestRecord): Explanation => {
  const { isCharged, isChargeLost, isCut, attempts } = record;
  if (isChargeLost) {
    const what = 'The request was answered, and its unit could not be charged: it is free.';
    return answered(what, NOTHING, 'refund-pending');
  }
  if (!isCharged) {
    return {
      blame: 'provider',
      what: 'The provider ended its response properly, but without any content.',
      next: 'Send the request again, or change it: some providers answer so to a prompt that asks for nothing.',
    };
  }
  if (isCut) {
    const what =
      'The response was ended early because its time or size was used up; what was sent is usable.';
    return answered(what, 'Lower max_tokens, or stream the response.', 'deadline-cuts');
  }
  const failed = attempts.filter(({ error }) => error !== undefined).length;
  return answered(
    failed === 0
      ? 'The request was answered.'
      : `The request was answered after ${failed} failed ${failed === 1 ? 'attempt' : 'attempts'} on other targets.`,
  );
};

/** One call of a target, which may have failed while another one served the request. */
export const explainAttempt = ({ error, status }: Attempt): Explanation =>
  error === undefined ? answered('The target responded.') : explainError(error, status);

export const explain = (record: RequestRecord): Explanation => {
  if (record.outcome === 'finished') return explainFinished(record);
  if (record.outcome === 'failed') return explainFailure(record);
  return byCaller(
    `The client disconnected ${record.isCharged ? 'after' : 'before'} the first content.`,
    'If this was not intended, raise the timeout of the client, or stream the response.',
  );
};

export const whyCharged = ({ isCharged, isChargeLost, outcome, isCut }: RequestRecord): string => {
  if (isChargeLost) return 'not charged: the charge could not be written';
  if (outcome === 'abandoned') {
    return isCharged
      ? 'charged: the client disconnected after the first content'
      : 'not charged: the client disconnected before the first content';
  }
  if (isCharged) {
    return isCut
      ? 'charged: the response was ended early, with content'
      : 'charged: the response finished';
  }
  return `not charged: the ${outcome === 'finished' ? 'response was empty' : 'request failed'}`;
};
