import type { Catalog, Target } from '../catalog/catalog.ts';
import { countInputTokens, countingOf, estimateInputTokens } from '../catalog/estimate-tokens.ts';
import { partsOf, type RequestParts } from '../catalog/request-parts.ts';
import type { Tokenizers } from '../catalog/tokenizer.ts';
import type { Meter } from '../metering/meter.ts';
import type { Endpoint } from './endpoint.ts';

type CountDeps = { catalog: Catalog; tokenizers: Tokenizers; meter: Meter };

/** With the model's vocabulary where the catalog names one, else by rules. */
const countFor = (target: Target, parts: RequestParts, tokenizers: Tokenizers): number => {
  const name = target.counting?.tokenizer;
  return name === undefined
    ? estimateInputTokens(parts, countingOf(target))
    : countInputTokens(parts, target, tokenizers(name));
};

/**
 * POST /v1/messages/count_tokens: an estimate for planning context use, as the first target of the model counts,
 * free of quota. Agents count parts of a conversation too, so it need not be one that could be sent.
 */
export const createCountTokens =
  ({ catalog, tokenizers, meter }: CountDeps): Endpoint =>
  async (call) => {
    const { decodeRequest, decodeCountRequest = decodeRequest } = call.protocol;
    const request = decodeCountRequest(call.body);
    const model = catalog.require(request.model, call.caller.plan);
    call.note({ model: model.id });
    await meter.admitFree(call.caller);
    const [target] = model.targets;
    const tokens = target ? countFor(target, partsOf(request), tokenizers) : 0;
    return { status: 200, body: { input_tokens: tokens } };
  };
