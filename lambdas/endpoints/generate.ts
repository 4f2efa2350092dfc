import type { Catalog } from '../catalog/catalog.ts';
import type { Meter } from '../metering/meter.ts';
import type { ResponseMeta } from '../protocols/generation.ts';
import type { Failover } from '../routing/failover.ts';
import type { Clock } from '../support/clock.ts';
import { withHeaders } from '../support/errors.ts';
import { suffixOf } from '../support/ids.ts';
import { answerHeaders, failureHeaders, withFamilyHeaders } from './answer-headers.ts';
import { type CheckedCall, checkCall } from './check-call.ts';
import type { Call, Endpoint } from './endpoint.ts';
import type { FetchAnswer } from './fetch-answer.ts';
import { publicError } from './public-error.ts';
import { createSettlement } from './settlement.ts';
import { streamAnswer } from './stream-answer.ts';
import { wholeAnswer } from './whole-answer.ts';

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
    throw withFamilyHeaders(error, call);
  }
};

const labelOf = (
  { call, model, estimatedInputTokens }: CheckedCall,
  now: number,
): ResponseMeta => ({
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
      const label = labelOf(checked, admittedAt);
      const answer = { checked, label, fetched: fetchAnswer(checked), settlement };
      const reply = checked.request.stream
        ? await streamAnswer(answer, clock)
        : await wholeAnswer(answer);
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
