import type { Target } from '../catalog/catalog.ts';
import { memberText } from '../protocols/bytes/splice.ts';
import type { Marking } from '../protocols/cache/marks.ts';
import { wireTargetOf } from '../protocols/protocol.ts';
import { upstreamProtocols } from '../protocols/protocols.ts';
import type { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { LEAST_CACHED } from '../records/explain-cache.ts';
import { hashParts } from '../records/parts.ts';
import type { Recorder } from '../records/recorder.ts';
import type { ReservedUnit } from '../stores/meter-store.ts';
import type { Attempt, RequestRecord } from '../stores/record-store.ts';
import type { Clock } from '../support/clock.ts';
import { createMinuteSample, dayOf, MINUTE_MS } from '../support/clock.ts';
import type { ApiError } from '../support/errors.ts';
import { isEmpty, omitUndefined } from '../support/omit-undefined.ts';
import { billOf, totalOf, type Used } from './bill.ts';
import type { CheckedCall } from './check-call.ts';
import type { Call } from './endpoint.ts';
import type { Charge } from './settlement.ts';

// --- attempts ---

/** The attempts of one call, as they happen. */
export type AttemptLog = {
  readonly attempts: readonly Attempt[];
  /** What each of them has used, in their order. */
  readonly uses: readonly Used[];
  /** Begins an attempt; what it uses is noted in the result. */
  start(target: Target): Used;
  /** What the attempt on a target has used. */
  used(target: Target): Used;
  /** The target of the latest attempt. */
  target(): Target | undefined;
  /** Notes in which form that target is called. */
  adapt(form: Target): void;
  form(): Target | undefined;
  /** Ends the attempt that runs, with its failure or with its first content. */
  end(failure?: UpstreamError): void;
  /** The last attempt failed after its first content. */
  breakOff(failure: UpstreamError): void;
};

const failureOf = ({ kind: error, status, reason }: UpstreamError) =>
  omitUndefined({ error, status, reason });

export const createAttemptLog = ({ startedAt }: Call, clock: Clock): AttemptLog => {
  const attempts: Attempt[] = [];
  const uses: Used[] = [];
  let latest: Target | undefined;
  let latestForm: Target | undefined;
  let isRunning = false;
  const end: AttemptLog['end'] = (failure) => {
    const last = attempts.at(-1);
    if (!last || !isRunning) return;
    isRunning = false;
    last.ms = clock.now() - startedAt - last.startedMs;
    if (failure) Object.assign(last, failureOf(failure));
  };
  const begin = (target: Target): Used => {
    const used: Used = { target, characters: 0, isFinal: false };
    uses.push(used);
    return used;
  };
  return {
    attempts,
    uses,
    // Each attempt is on another target.
    used: (target) => uses.find((used) => used.target === target) ?? begin(target),
    end,
    breakOff: (failure) => {
      const last = attempts.at(-1);
      if (!last) return;
      last.brokeMs = clock.now() - startedAt - last.startedMs;
      Object.assign(last, failureOf(failure));
    },
    target: () => latest,
    adapt: (form) => {
      latestForm = form;
    },
    form: () => latestForm,
    start: (target) => {
      const { upstream, model } = target;
      latest = target;
      latestForm = target;
      // An empty response is not a failure, and is tried once more on the next target.
      end();
      isRunning = true;
      attempts.push({ upstream, model, startedMs: clock.now() - startedAt, ms: 0 });
      return begin(target);
    },
  };
};

// --- record ---

/** Requests of a model that an environment estimates within a minute; above that, one in a hundred. */
const ESTIMATED_PER_MINUTE = 60;
/** An estimate of a larger body takes milliseconds: of those one in 62, by the last character of its id. */
const MAX_ESTIMATED_BYTES = 65_536;

/**
 * Whether the record of a call has an estimate. Only a comparison with the provider's count needs it, and for
 * the 29 KB of an agent it is an eighth of the CPU of a request.
 */
export type EstimateSample = (checked: CheckedCall) => boolean;

export const createEstimateSample = (clock: Clock): EstimateSample => {
  // As many entries as the catalog has models.
  const samples = new Map<string, (now: number) => boolean>();
  return ({ call: { source, requestId }, model: { id } }) => {
    if (source.bytes > MAX_ESTIMATED_BYTES) return requestId.endsWith('0');
    const isSampled = samples.get(id) ?? createMinuteSample(ESTIMATED_PER_MINUTE);
    samples.set(id, isSampled);
    return isSampled(clock.now());
  };
};

type Parts = {
  checked: CheckedCall;
  unit: ReservedUnit;
  attempts: AttemptLog;
  isEstimated: boolean;
  clock: Clock;
};

/** What the access log line also has. */
const notedIn = ({ notes }: Call) => ({
  firstContentMs: notes.firstContentMs,
  finish: notes.finish,
  isCut: notes.cut,
});

/** The estimate, and what it was made of where the provider has counted the same prompt. */
const estimateOf = ({ checked, attempts, isEstimated }: Parts) => {
  const { call, estimateInput, countPrompt } = checked;
  if (!isEstimated) return {};
  const target = attempts.target();
  const estimatedInputTokens = estimateInput(target);
  const { inputTokens, inputEstimated } = call.notes;
  if (target === undefined || inputTokens === undefined || inputEstimated) {
    return { estimatedInputTokens };
  }
  call.note({ estimatedInputTokens });
  const promptCounts = countPrompt(target)?.map(Math.round);
  return omitUndefined({ estimatedInputTokens, promptCounts });
};

const markingOf = ({ checked: { request, model }, attempts }: Parts): Marking | undefined => {
  const target = attempts.form();
  return (
    target &&
    upstreamProtocols[target.protocol].markingOf?.(
      request,
      wireTargetOf(target, model.max_output_tokens),
    )
  );
};

/** What the attempts used and cost: the tokens of the last one, and the costs of all. */
const costsIn = ({ checked, attempts }: Parts) => {
  const { call, model, estimateInput } = checked;
  const parts = { model, startedAt: call.startedAt, estimateInput };
  const bills = attempts.uses.map((used) => billOf(used, parts));
  const last = bills.at(-1);
  const { serviceTier, billing: own, ...tokens } = last?.usage ?? {};
  const billing = omitUndefined({ serviceTier, ...own });
  return {
    attempts: attempts.attempts.map((attempt, index): Attempt => {
      const bill = attempt.error === undefined ? undefined : bills[index];
      if (!bill) return attempt;
      const { inputTokens, outputTokens } = bill.usage;
      return { ...attempt, inputTokens, outputTokens, costNanos: bill.cost.nanos };
    }),
    ...tokens,
    ...(!isEmpty(billing) && { billing }),
    ...totalOf(bills.filter((bill) => bill !== undefined)),
  };
};

/** What a later request of the session is compared with, if a provider may have cached this one. */
const sessionIn = ({ checked: { call, request, session } }: Parts) => {
  if ((call.notes.inputTokens ?? 0) < LEAST_CACHED) return {};
  const { id, secret } = session();
  return { session: id, parts: hashParts(request, memberText(call.source, 'tools'), secret) };
};

const recordOf = (
  parts: Parts,
  { charge, error }: { charge: Charge; error: ApiError | undefined },
): RequestRecord => {
  const { checked, unit, clock } = parts;
  const { call, request, model } = checked;
  const { caller, notes, awsRequestId, traceparent } = call;
  return {
    id: call.requestId,
    startedAt: call.startedAt,
    ms: clock.now() - call.startedAt,
    projectId: caller.projectId,
    keyId: caller.keyId,
    meterId: caller.meterId,
    planId: caller.plan.id,
    day: dayOf(unit.minute * MINUTE_MS),
    period: unit.period,
    protocol: call.protocol.name,
    model: model.id,
    isStream: request.stream,
    ...costsIn(parts),
    isCharged: charge === 'charged',
    outcome: notes.outcome ?? 'failed',
    status: error?.status ?? 200,
    ...estimateOf(parts),
    ...sessionIn(parts),
    ...omitUndefined({
      ...notedIn(call),
      error: notes.fault ?? error?.code,
      isChargeLost: charge === 'lost' || undefined,
      marking: markingOf(parts),
      awsRequestId,
      traceparent,
    }),
  };
};

/** The record of one admitted call. */
export type CallRecord = {
  /** Notes the error that the caller gets instead of a response. */
  fail(error: ApiError): void;
  /** Writes the record; again if the unit was settled in another way than expected. Never throws. */
  write(charge: Charge): Promise<void>;
};

export const createCallRecord = (parts: Parts & { recorder: Recorder }): CallRecord => {
  let error: ApiError | undefined;
  let revision = 0;
  return {
    fail: (failure) => {
      error = failure;
    },
    write: (charge) => {
      revision += 1;
      return parts.recorder.record(recordOf(parts, { charge, error }), revision);
    },
  };
};
