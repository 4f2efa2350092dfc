import type { Catalog } from '../catalog/catalog.ts';
import { estimateInputTokens } from '../catalog/estimate-tokens.ts';
import type { Meter } from '../metering/meter.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * POST /v1/messages/count_tokens: an estimate for planning context use, free of quota. Agents count parts
 * of a conversation too, so it need not be one that could be sent.
 */
export const createCountTokens =
  ({ catalog, meter }: { catalog: Catalog; meter: Meter }): Endpoint =>
  async (call) => {
    const { decodeRequest, decodeCountRequest = decodeRequest } = call.protocol;
    const request = decodeCountRequest(call.body);
    const model = catalog.require(request.model, call.caller.plan);
    call.note({ model: model.id });
    await meter.admitFree(call.caller);
    return { status: 200, body: { input_tokens: estimateInputTokens(request) } };
  };
