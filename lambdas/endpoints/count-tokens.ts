import type { Catalog } from '../catalog/catalog.ts';
import { countingOf, estimateInputTokens } from '../catalog/estimate-tokens.ts';
import { partsOf } from '../catalog/request-parts.ts';
import type { Meter } from '../metering/meter.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * POST /v1/messages/count_tokens: an estimate for planning context use, as the first target of the model counts,
 * free of quota. Agents count parts of a conversation too, so it need not be one that could be sent.
 */
export const createCountTokens =
  ({ catalog, meter }: { catalog: Catalog; meter: Meter }): Endpoint =>
  async (call) => {
    const { decodeRequest, decodeCountRequest = decodeRequest } = call.protocol;
    const request = decodeCountRequest(call.body);
    const model = catalog.require(request.model, call.caller.plan);
    call.note({ model: model.id });
    await meter.admitFree(call.caller);
    const [target] = model.targets;
    const tokens = target ? estimateInputTokens(partsOf(request), countingOf(target)) : 0;
    return { status: 200, body: { input_tokens: tokens } };
  };
