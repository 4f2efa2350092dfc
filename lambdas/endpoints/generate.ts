import { createFuse, type Fuse } from '#late/fuse';
import type { Target } from '../catalog/catalog.ts';
import { retirementHeaders } from '../catalog/retirement.ts';
import { createSettlement } from '../metering/admission.ts';
import { isUnderBudget, isUnderWho } from '../metering/budgets.ts';
import { LimitReached, type Limits, limitHeaders } from '../metering/limits.ts';
import type { Meter } from '../metering/meter.ts';
import type { ResponseMeta } from '../protocols/generation.ts';
import type { HeaderMap } from '../protocols/protocol.ts';
import { hashValue, type ReadWhoKey } from '../records/hash-who.ts';
import type { Recorder } from '../records/recorder.ts';
import type { Run } from '../replay/own.ts';
import type { Replay } from '../replay/replay.ts';
import type { Lessons } from '../routing/lessons.ts';
import type { RequestRecord, Who } from '../stores/record-store.ts';
import type { Clock } from '../support/clock.ts';
import { ApiError, apiError, withHeaders } from '../support/errors.ts';
import { suffixOf } from '../support/ids.ts';
import { omitUndefined } from '../support/objects.ts';
import { createEstimateSample, hashesOf, recordOf } from './call-record.ts';
import { type CheckDeps, type CheckedCall, checkCall, estimateOn } from './check-call.ts';
import type { Call, Endpoint, Reply } from './endpoint.ts';
import { discard, type FetchAnswer, type Fetched } from './fetch-answer.ts';
import { warnOfLoop } from './loops.ts';
import { publicError } from './public-error.ts';
import { respondWhole, respondWithStream } from './respond.ts';

/** Returns the limit headers: the common ones and those of the caller's protocol. */
const answerHeaders = (call: Call, limits: Limits, now: number): HeaderMap => ({
  ...limitHeaders(limits, now),
  ...call.protocol.limitHeaders(limits.requests),
});

/** Returns the same for a failure or an empty response: the period's unit is refunded, the minute's is not. */
const freeHeaders = (call: Call, { quota, ...limits }: Limits, now: number) => {
  const remaining = Math.min(quota.limit, quota.remaining + 1);
  return answerHeaders(call, { ...limits, quota: { ...quota, remaining } }, now);
};

/** Adds the protocol's limit headers to a 402 or 429; returns any other error unchanged. */
const withProtocolHeaders = (error: unknown, { protocol }: Call): unknown =>
  error instanceof LimitReached
    ? withHeaders(error, protocol.limitHeaders(error.limits.requests))
    : error;

/**
 * Rejects or denies a request before it takes a unit.
 * @throws the error of the request, or CallerChanged if key or plan were changed since they were last read: then the
 * request is decided again
 */
const refuse = async ({ confirm }: Call, error: unknown): Promise<never> => {
  await confirm?.();
  throw error;
};

export type GenerateDeps = CheckDeps & {
  replay: Replay;
  meter: Meter;
  /** Start to read what the call of a target needs. */
  prefetched: { prefetch(targets: Target[]): void }[];
  fetchAnswer: FetchAnswer;
  lessons: Pick<Lessons, 'learn'>;
  recorder: Recorder;
  /** Users and sessions are under budgets as records have them. */
  readWhoKey?: ReadWhoKey | undefined;
  clock: Clock;
};

/** Whose budgets of users and sessions a request is under. @throws ApiError 503 if the key of their hashes cannot be read */
const leaserOf = async (
  { call: { caller }, attribution: { who } }: CheckedCall,
  readWhoKey: ReadWhoKey | undefined,
): Promise<Who | undefined> => {
  if (!who || !readWhoKey || !isUnderWho(caller)) return who;
  const { projectId } = caller;
  const hashOf = async (value: string | undefined) =>
    value && hashValue(value, projectId, readWhoKey);
  try {
    const [user, session] = await Promise.all([hashOf(who.user), hashOf(who.session)]);
    return omitUndefined({ user, session });
  } catch (cause) {
    const headers = { 'retry-after': '1' };
    throw apiError('The budget could not be checked.', { status: 503, headers, cause });
  }
};

/**
 * Reserves one unit and calls a target: at once if the meter seems to have room, else once the unit is reserved,
 * so that a denied request costs no money at a provider. Both begin while key and plan are read again, if they are due.
 * No content leaves before all three.
 */
const startCall = async (
  { meter, fetchAnswer, readWhoKey }: Pick<GenerateDeps, 'meter' | 'fetchAnswer' | 'readWhoKey'>,
  checked: CheckedCall,
  fuse: Fuse | undefined,
) => {
  const { caller, confirm, requestId } = checked.call;
  const early: { fetched?: Fetched } = {};
  const onRoom = () => {
    early.fetched = fetchAnswer(checked);
  };
  try {
    const lease = fuse && { ...fuse.lease, who: await leaserOf(checked, readWhoKey) };
    const options = { now: checked.reservedAt, confirm, onRoom, lease };
    const admission = await meter.admit(caller, requestId, options);
    fuse?.admitted(admission);
    return { admission, fetched: early.fetched ?? fetchAnswer(checked, fuse) };
  } catch (error) {
    if (early.fetched) void discard(early.fetched);
    return refuse(checked.call, withProtocolHeaders(error, checked.call));
  }
};

const metaOf = (
  { call, model, prompt }: CheckedCall,
  { tried }: Fetched,
  admittedAt: number,
  clock: Clock,
): ResponseMeta => ({
  id: suffixOf(call.requestId),
  model: model.id,
  created: Math.floor(admittedAt / 1000),
  now: () => Math.floor(clock.now() / 1000),
  estimateInput: () => estimateOn(prompt, tried.at(-1)?.target),
});

/**
 * Learns of a response, while it is recorded: what its provider counted of an estimated prompt, which corrects later estimates, and
 * the name by which it states thinking, under which it reads that of earlier responses.
 */
const learn = async (
  { calibrations, lessons }: Pick<GenerateDeps, 'calibrations' | 'lessons'>,
  { promptCounts: counts, inputTokens: tokens = 0 }: RequestRecord,
  { target, form, usage }: Fetched['tried'][number],
) => {
  if (counts && tokens > 0) await calibrations.learn(target, { counts, tokens });
  const profile = { ...form?.profile };
  if (usage?.thinkingName === undefined || profile.reasoningHistory !== undefined) return;
  await lessons.learn(target, { ...profile, reasoningHistory: usage.thinkingName });
};

/**
 * Reserves one unit, calls a target, responds, settles, records. `keeper` stores the response of a keyed
 * request.
 */
const createRun = (deps: Omit<GenerateDeps, 'catalog' | 'replay'>): Run => {
  const { prefetched, calibrations, recorder, meter, clock } = deps;
  const isEstimated = createEstimateSample(clock);
  const fuseOf = (checked: CheckedCall): Fuse | Promise<never> => {
    try {
      return createFuse({ checked, meter, clock });
    } catch (error) {
      return refuse(checked.call, error);
    }
  };
  return async (asked, keeper) => {
    const { call } = asked;
    const { targets } = asked;
    for (const part of prefetched) part.prefetch(targets);
    if (targets[0]) void calibrations.prefetch(targets[0]);
    const { budgets } = call.caller;
    const isUnder = budgets !== undefined && isUnderBudget(budgets, asked.attribution.who);
    const fuse = isUnder ? await fuseOf(asked) : undefined;
    const checked = fuse?.checked ?? asked;
    const { admission, fetched } = await startCall(deps, checked, fuse);
    call.onAdmitted?.();
    const { limits, unit } = admission;
    const { tried, noRoom } = fetched;
    const parts = { checked, unit, tried, noRoom, isEstimated: isEstimated(checked), clock };
    let error: ApiError | undefined;
    let revision = 0;
    const unitOf = fuse?.settling(admission, tried) ?? admission;
    const settlement = createSettlement(unitOf, clock, (charge) => {
      revision += 1;
      const entry = recordOf(parts, { charge, error });
      const recorded = recorder.record(entry, revision, hashesOf(checked));
      const attempt = revision > 1 ? undefined : tried.at(-1);
      return attempt ? learn(deps, entry, attempt).then(() => recorded) : recorded;
    });
    const admittedAt = clock.now();
    try {
      const meta = metaOf(checked, fetched, admittedAt, clock);
      const answer = { checked, meta, fetched, settlement, keeper };
      const reply = checked.request.stream
        ? await respondWithStream(answer, clock)
        : await respondWhole(answer);
      const headersOf = settlement.isFree() ? freeHeaders : answerHeaders;
      return { ...reply, headers: { ...headersOf(call, limits, admittedAt), ...reply.headers } };
    } catch (failure) {
      error = publicError(failure);
      // Refunded before the error is sent: the caller may retry on its last unit.
      await settlement.fail();
      await settlement.endSoon();
      throw withHeaders(error, freeHeaders(call, limits, clock.now()));
    }
  };
};

/** Also on a 429 or 5xx, which is all that a caller with used-up limits gets. */
const withHeadersOf = async (replying: Promise<Reply>, headers: HeaderMap): Promise<Reply> => {
  try {
    const reply = await replying;
    return { ...reply, headers: { ...reply.headers, ...headers } };
  } catch (error) {
    throw error instanceof ApiError ? withHeaders(error, headers) : error;
  }
};

/** Whether an attempt may have been before it. The official SDKs count them: 0 with the first one, then 1, 2, … */
const mayRepeat = ({ header, caller }: Call): boolean =>
  header('idempotency-key') !== undefined ||
  (caller.plan.replay === 'retries' && header('x-stainless-retry-count') !== undefined);

/** Handles a generation: checks for free, then runs it, or replays the response of an earlier attempt. */
export const createGenerate = ({ replay, ...deps }: GenerateDeps): Endpoint => {
  const run = createRun(deps);
  return async (call) => {
    let checked: CheckedCall;
    let warning: HeaderMap | undefined;
    try {
      checked = checkCall(deps, call);
      // A conversation of one turn repeats nothing.
      if (checked.request.turns.length > 1) warning = warnOfLoop(checked);
    } catch (error) {
      return refuse(call, error);
    }
    const { asked, model } = checked;
    const { keepWith } = call;
    const runKept: Run = keepWith ? (again, keeper) => run(again, keepWith(keeper)) : run;
    const reply = mayRepeat(call) ? replay(checked, runKept) : runKept(checked);
    const retiring = asked.retires === undefined ? undefined : retirementHeaders(asked, model);
    return warning || retiring ? withHeadersOf(reply, { ...warning, ...retiring }) : reply;
  };
};
