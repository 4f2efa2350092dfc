import { assertWithin, targetsFor } from '../catalog/capabilities.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { estimateInputTokens } from '../catalog/estimate-tokens.ts';
import type { Admission } from '../metering/admission.ts';
import { type Limits, limitHeaders } from '../metering/limit-headers.ts';
import type { Meter } from '../metering/meter.ts';
import { LimitReached } from '../metering/refusals.ts';
import { assertConsistent } from '../protocols/assert-consistent.ts';
import type { Label } from '../protocols/generation.ts';
import type { Failover } from '../routing/failover.ts';
import type { Clock } from '../support/clock.ts';
import { withHeaders } from '../support/errors.ts';
import { suffixOf } from '../support/ids.ts';
import type { Log } from '../support/log.ts';
import { waitAtMost } from '../support/wait-at-most.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Call, Endpoint, Reply } from './endpoint.ts';
import type { Answering } from './open-answer.ts';
import { publicError } from './public-error.ts';
import { createSettlement, type Settlement } from './settlement.ts';
import { streamAnswer } from './stream-answer.ts';
import { wholeAnswer } from './whole-answer.ts';

export type GenerateDeps = {
  catalog: Catalog;
  meter: Meter;
  upstream: Upstream;
  failover: Failover;
  clock: Clock;
  log: Log;
};

/** Everything that costs nothing: what is asked, of which model, and whether it can be done. */
const check = (deps: GenerateDeps, call: Call): Answering => {
  const { catalog, upstream, failover, clock, log } = deps;
  const request = call.protocol.decodeRequest(call.body);
  assertConsistent(request);
  const model = catalog.require(request.model, call.caller.plan);
  call.note({ model: model.id, stream: request.stream });
  const estimatedInputTokens = estimateInputTokens(request);
  assertWithin(model, request, estimatedInputTokens);
  const targets = targetsFor(model, request);
  return { call, request, model, targets, estimatedInputTokens, upstream, failover, clock, log };
};

/** A close takes a few ms; if the table is in trouble, nobody's answer waits for it. */
const CLOSE_PATIENCE_MS = 300;

const endSoon = (clock: Clock, settlement: Settlement) =>
  waitAtMost(clock, CLOSE_PATIENCE_MS, settlement.end());

const labelOf = ({ call, model, estimatedInputTokens, clock }: Answering): Label => ({
  id: suffixOf(call.requestId),
  model: model.id,
  created: Math.floor(clock.now() / 1000),
  estimatedInputTokens,
});

const answer = async (answering: Answering, settlement: Settlement): Promise<Reply> => {
  const label = labelOf(answering);
  if (answering.request.stream) return streamAnswer(answering, label, settlement);
  const reply = await wholeAnswer(answering, label, settlement);
  await endSoon(answering.clock, settlement);
  return reply;
};

/** As they stand once the unit is back; the minute's stays spent. */
const withUnitBack = ({ requests, quota }: Limits): Limits => ({
  requests,
  quota: { ...quota, remaining: Math.min(quota.limit, quota.remaining + 1) },
});

const headersOf = (call: Call, limits: Limits, now: number): Record<string, string> => ({
  ...limitHeaders(limits, now),
  ...call.protocol.limitHeaders(limits.requests),
});

/** @throws ApiError with the limits in the words of the caller's family, where one was reached */
const admit = async (meter: Meter, call: Call): Promise<Admission> => {
  try {
    return await meter.admit(call.caller, call.requestId);
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    throw withHeaders(error, call.protocol.limitHeaders(error.limits.requests));
  }
};

/** POST of either family: check for free, take one unit, route, answer, settle. */
export const createGenerate =
  (deps: GenerateDeps): Endpoint =>
  async (call) => {
    const answering = check(deps, call);
    deps.failover.expect(answering.targets);
    const admission = await admit(deps.meter, call);
    const settlement = createSettlement(admission);
    const { limits } = admission;
    const admittedAt = deps.clock.now();
    try {
      const reply = await answer(answering, settlement);
      const headers = headersOf(call, limits, admittedAt);
      return { ...reply, headers: { ...headers, ...reply.headers } };
    } catch (error) {
      // The unit goes back before the caller hears of the failure: it may be the last one.
      await settlement.fail();
      await endSoon(deps.clock, settlement);
      const headers = headersOf(call, withUnitBack(limits), deps.clock.now());
      throw withHeaders(publicError(error), headers);
    }
  };
