import type { Catalog } from '../catalog/catalog.ts';
import { estimateInputTokens } from '../catalog/estimate-tokens.ts';
import type { Meter } from '../metering/meter.ts';
import { assertConsistent } from '../protocols/assert-consistent.ts';
import { decodeCountRequest } from '../protocols/messages/index.ts';
import type { Endpoint } from './endpoint.ts';

/** POST /v1/messages/count_tokens: an estimate for planning context use, free of quota. */
export const createCountTokens =
  ({ catalog, meter }: { catalog: Catalog; meter: Meter }): Endpoint =>
  async (call) => {
    const request = decodeCountRequest(call.body);
    assertConsistent(request);
    const model = catalog.require(request.model, call.caller.plan);
    call.note({ model: model.id });
    await meter.admitFree(call.caller);
    return { status: 200, body: { input_tokens: estimateInputTokens(request) } };
  };
