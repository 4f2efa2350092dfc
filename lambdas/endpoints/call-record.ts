import { nameOf, type Target } from '../catalog/catalog.ts';
import type { Charge } from '../metering/admission.ts';
import { memberText } from '../protocols/bytes/splice.ts';
import type { Marking } from '../protocols/cache/members.ts';
import { wireTargetOf } from '../protocols/protocol.ts';
import { upstreamProtocols } from '../protocols/protocols.ts';
import { limitsText, type ProviderLimit } from '../protocols/provider-limits.ts';
import type { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { hashParts, LEAST_CACHED } from '../records/parts.ts';
import type { ReservedUnit } from '../stores/meter-store.ts';
import type { Attempt, Passed, RequestRecord } from '../stores/record-store.ts';
import type { Clock } from '../support/clock.ts';
import { createMinuteSample, dayOf, MINUTE_MS } from '../support/clock.ts';
import type { ApiError } from '../support/errors.ts';
import { oncePer } from '../support/memo.ts';
import { isEmpty, omitUndefined } from '../support/objects.ts';
import { type Bill, type BillParts, billOf, totalOf, type Used } from './bill.ts';
import { type CheckedCall, countsOn, estimateOn } from './check-call.ts';
import type { Call } from './endpoint.ts';

/** An attempt on a target, as it happens, with what it has used. */
export type Tried = Used & {
  /** The target in the form in which it is called, with what was learned about it. */
  form: Target;
  /** Since the request began. */
  startedMs: number;
  /** Until its failure or its first content; undefined while it runs. */
  ms?: number;
  /** Since the request began, if it failed after its first content. */
  brokeMs?: number;
  error?: UpstreamError;
  /** What the provider's response stated. */
  limits?: ProviderLimit[];
};

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
  const isSampled = oncePer(new Map<string, (now: number) => boolean>(), () =>
    createMinuteSample(ESTIMATED_PER_MINUTE),
  );
  return ({ call: { source, requestId }, model: { id } }) => {
    if (source.bytes > MAX_ESTIMATED_BYTES) return requestId.endsWith('0');
    return isSampled(id)(clock.now());
  };
};

export type RecordParts = {
  checked: CheckedCall;
  unit: ReservedUnit;
  tried: readonly Tried[];
  noRoom: ReadonlySet<Target> | undefined;
  isEstimated: boolean;
  clock: Clock;
};

/** What the access log line also has. */
const notedIn = ({ notes }: Call) => ({
  firstContentMs: notes.firstContentMs,
  finish: notes.finish,
  isCut: notes.cut,
  isLoop: notes.loop,
});

/** The estimate, and what it was made of where the provider has counted the same prompt. */
const estimateOf = ({ checked, tried, isEstimated }: RecordParts) => {
  const { call, prompt } = checked;
  if (!isEstimated) return {};
  const target = tried.at(-1)?.target;
  const estimatedInputTokens = estimateOn(prompt, target);
  const { inputTokens, inputEstimated } = call.notes;
  if (target === undefined || inputTokens === undefined || inputEstimated) {
    return { estimatedInputTokens };
  }
  call.note({ estimatedInputTokens });
  const promptCounts = countsOn(prompt, target)?.map(Math.round);
  return omitUndefined({ estimatedInputTokens, promptCounts });
};

const markingOf = ({ checked: { request, model }, tried }: RecordParts): Marking | undefined => {
  const target = tried.at(-1)?.form;
  return (
    target &&
    upstreamProtocols[target.protocol].markingOf?.(
      request,
      wireTargetOf(target, model.max_output_tokens),
    )
  );
};

/** A model with one target leaves none. */
const choiceIn = ({
  checked: { targets, model, choice, preferred },
  tried,
  noRoom,
}: RecordParts): Pick<RequestRecord, 'choice' | 'passed' | 'compared'> => {
  if (model.targets.length === 1) return {};
  const last = tried.at(-1)?.target;
  const before = targets.slice(0, last ? targets.indexOf(last) : targets.length);
  const hasFailed = (target: Target) => tried.some((one) => one.target === target);
  const passed = before.map((target): [string, Passed] => [
    nameOf(target),
    noRoom?.has(target) ? 'capacity' : hasFailed(target) ? 'failed' : 'held',
  ]);
  return omitUndefined({
    choice: last && (noRoom?.has(last) ? 'waited' : before.length > 0 ? 'failover' : choice),
    passed: before.length > 0 ? passed : undefined,
    compared: preferred?.figures,
  });
};

const attemptOf = (
  { target, startedMs, ms = 0, brokeMs, error, limits }: Tried,
  bill: Bill | undefined,
): Attempt => {
  const { upstream, model, region, retention } = target;
  const times = {
    ...{ upstream, model, startedMs, ms },
    ...omitUndefined({ region, retention, limits: limits && limitsText(limits) }),
  };
  if (!error) return times;
  const { kind, status, reason } = error;
  const { inputTokens, outputTokens } = bill?.usage ?? {};
  const used = { inputTokens, outputTokens, costNanos: bill?.cost.nanos };
  return { ...times, ...omitUndefined({ brokeMs, error: kind, status, reason, ...used }) };
};

export const billPartsOf = ({ call, model, prompt }: CheckedCall): BillParts => ({
  ...{ model, startedAt: call.startedAt },
  estimateInput: (target) => estimateOn(prompt, target),
});

/** What was tried, what that used and cost: the tokens of the last one, and the costs of all. */
const costsIn = ({ checked, tried }: RecordParts) => {
  const parts = billPartsOf(checked);
  const bills = tried.map((one) => billOf(one, parts));
  const { serviceTier, billing: own, ...tokens } = bills.at(-1)?.usage ?? {};
  const billing = omitUndefined({ serviceTier, ...own });
  return {
    attempts: tried.map((one, index) => attemptOf(one, bills[index])),
    ...tokens,
    ...(!isEmpty(billing) && { billing }),
    ...totalOf(bills.filter((bill) => bill !== undefined)),
  };
};

/** Whether a provider may have cached the prompt, so that a later request of the session is compared with it. */
const isCompared = ({ call }: CheckedCall): boolean =>
  (call.notes.inputTokens ?? 0) >= LEAST_CACHED;

/** Tokens differ in length: so much more than their share of the characters is taken for new. */
const MARGIN = 2;

/** Hashes of what a later request of the session is compared with. */
export const hashesOf = (checked: CheckedCall): Uint16Array | undefined => {
  if (!isCompared(checked)) return undefined;
  const { call, request, session } = checked;
  const { source, notes } = call;
  const { addedTools } = request;
  const { inputTokens = 0, cacheReadTokens = inputTokens } = notes;
  const fresh = MARGIN * source.raw.length * (1 - cacheReadTokens / inputTokens);
  return hashParts(request, {
    tools: memberText(source, 'tools') + (addedTools ? JSON.stringify(addedTools) : ''),
    fresh,
    secret: session().secret,
  });
};

/** The record of an admitted call; `error` is what the caller gets instead of a response. */
export const recordOf = (
  parts: RecordParts,
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
    ...choiceIn(parts),
    ...omitUndefined({
      ...notedIn(call),
      error: notes.fault ?? error?.code,
      isChargeLost: charge === 'lost' || undefined,
      session: isCompared(checked) ? checked.session().id : undefined,
      marking: markingOf(parts),
      require: caller.plan.require,
      who: checked.attribution.who,
      awsRequestId,
      traceparent,
    }),
  };
};
