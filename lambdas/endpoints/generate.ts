import type { Catalog } from '../catalog/catalog.ts';
import { LimitReached } from '../metering/limit-errors.ts';
import { type Limits, limitHeaders } from '../metering/limit-headers.ts';
import type { Meter } from '../metering/meter.ts';
import type { ResponseMeta } from '../protocols/generation.ts';
import type { Failover } from '../routing/failover.ts';
import type { Clock } from '../support/clock.ts';
import { withHeaders } from '../support/errors.ts';
import { suffixOf } from '../support/ids.ts';
import { type CheckedCall, checkCall } from './check-call.ts';
import type { Call, Endpoint } from './endpoint.ts';
import type { FetchAnswer } from './fetch-answer.ts';
import { publicError } from './public-error.ts';
import { respondWhole, respondWithStream } from './respond.ts';
import { createSettlement } from './settlement.ts';

/** The caller's limits, in the headers that both families share and in their own family's. */
const answerHeaders = (call: Call, limits: Limits, now: number): Record<string, string> => ({
  ...limitHeaders(limits, now),
  ...call.protocol.limitHeaders(limits.requests),
});

/** The same for a failure: the period's unit is back, the minute's stays spent. */
const failureHeaders = (call: Call, { requests, quota }: Limits, now: number) => {
  const remaining = Math.min(quota.limit, quota.remaining + 1);
  return answerHeaders(call, { requests, quota: { ...quota, remaining } }, now);
};

/** The meter's refusal with the headers of the caller's family; any other error as it is. */
const withProtocolHeaders = (error: unknown, { protocol }: Call): unknown =>
  error instanceof LimitReached
    ? withHeaders(error, protocol.limitHeaders(error.limits.requests))
    : error;

export type GenerateDeps = {
  catalog: Catalog;
  meter: Meter;
  failover: Pick<Failover, 'prefetch'>;
  fetchAnswer: FetchAnswer;
  clock: Clock;
};

const admit = async (meter: Meter, call: Call) => {
  try {
    return await meter.admit(call.caller, call.requestId);
  } catch (error) {
    throw withProtocolHeaders(error, call);
  }
};

const metaOf = ({ call, model, estimatedInputTokens }: CheckedCall, now: number): ResponseMeta => ({
  id: suffixOf(call.requestId),
  model: model.id,
  created: Math.floor(now / 1000),
  estimatedInputTokens,
});

/** POST of either family: check for free, take one unit, fetch, answer, settle. */
export const createGenerate =
  ({ catalog, meter, failover, fetchAnswer, clock }: GenerateDeps): Endpoint =>
  async (call) => {
    const checked = checkCall(catalog, call);
    failover.prefetch(checked.targets);
    const { limits, ...unit } = await admit(meter, call);
    const settlement = createSettlement(unit, clock);
    const admittedAt = clock.now();
    try {
      const meta = metaOf(checked, admittedAt);
      const answer = { checked, meta, fetched: fetchAnswer(checked), settlement };
      const reply = checked.request.stream
        ? await respondWithStream(answer, clock)
        : await respondWhole(answer);
      return {
        ...reply,
        headers: { ...answerHeaders(call, limits, admittedAt), ...reply.headers },
      };
    } catch (error) {
      // The unit goes back before the caller hears of the failure: it may be the last one.
      await settlement.fail();
      await settlement.endSoon();
      throw withHeaders(publicError(error), failureHeaders(call, limits, clock.now()));
    }
  };
