import { type Catalog, requireWithin, type Target } from '../catalog/catalog.ts';
import { countingOf, estimateInputTokens } from '../catalog/estimate-tokens.ts';
import { partsOf, type RequestParts } from '../catalog/request-parts.ts';
import { retirementHeaders } from '../catalog/retirement.ts';
import type { Meter } from '../metering/meter.ts';
import type { JsonSource } from '../protocols/bytes/json.ts';
import type { GenerationRequest } from '../protocols/generation.ts';
import { upstreamProtocols } from '../protocols/protocols.ts';
import type { Breaker } from '../routing/breakers/breaker.ts';
import type { Owner } from '../routing/breakers/states.ts';
import type { Calibrations } from '../routing/calibrations.ts';
import type { CountAtProvider } from '../upstreams/count-at-provider.ts';
import type { Endpoint } from './endpoint.ts';

type CountDeps = {
  catalog: Catalog;
  calibrations: Calibrations;
  /** @default none: no provider is asked */
  countAtProvider?: CountAtProvider | undefined;
  meter: Meter;
  breaker: Pick<Breaker, 'isOpen'>;
};

/** A count, and what it is from: the response header `x-router-counted-by`. */
type Count = { tokens: number; by: 'provider' | 'calibrated' | 'estimate' };

/** What is counted, and for whom. */
type Counted = { request: GenerationRequest; source: JsonSource; owner: Owner };

/** By rules, corrected by what its provider has counted. */
const countHere = async (
  target: Target,
  parts: RequestParts,
  { calibrations }: CountDeps,
): Promise<Count> => {
  await calibrations.prefetch(target);
  const calibrated = calibrations.framingOf(target);
  const tokens = estimateInputTokens(parts, { ...countingOf(target), calibrated });
  return { tokens, by: calibrated ? 'calibrated' : 'estimate' };
};

/**
 * POST /v1/messages/count_tokens and /v1/responses/input_tokens: a count for planning context use, as the first target of the model counts,
 * free of quota. Agents count parts of a conversation too, so it need not be one that could be sent.
 */
export const createCountTokens = (deps: CountDeps): Endpoint => {
  const { catalog, countAtProvider, meter, breaker } = deps;

  /**
   * Undefined without a call where the target's breaker is open. How the call ends is not reported to the breaker, and it
   * takes no probe: counters have limits of their own, so it is not evidence about generations.
   */
  const askProvider = async (target: Target, { request, source, owner }: Counted) => {
    if (countAtProvider === undefined) return undefined;
    if (await breaker.isOpen(target, owner)) return undefined;
    const protocol = upstreamProtocols[target.protocol];
    return countAtProvider({ target, protocol, request, source });
  };

  const countOn = async (target: Target, counted: Counted): Promise<Count> => {
    const tokens = await askProvider(target, counted);
    return tokens === undefined
      ? countHere(target, partsOf(counted.request), deps)
      : { tokens, by: 'provider' };
  };

  return async (call) => {
    const { decodeRequest, decodeCountRequest = decodeRequest, countFields } = call.protocol;
    const request = decodeCountRequest(call.body, call.headers);
    const { asked, model } = catalog.require(request.model, call.caller.plan, call.startedAt);
    call.note({ model: model.id });
    await meter.admitFree(call.caller);
    const [target] = requireWithin(model, call.caller.plan.require, asked);
    if (!target) throw new Error('A model has at least one target.');
    const { tokens, by } = await countOn(target, {
      request,
      source: call.source,
      owner: call.caller,
    });
    const headers = { 'x-router-counted-by': by, ...retirementHeaders(asked, model) };
    return { status: 200, headers, body: { ...countFields, input_tokens: tokens } };
  };
};
