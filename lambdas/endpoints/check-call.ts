import { assertWithin, targetsFor } from '../catalog/capabilities.ts';
import type { Catalog, Model, Target } from '../catalog/catalog.ts';
import { estimateInputTokens } from '../catalog/estimate-tokens.ts';
import { assertConsistent } from '../protocols/assert-consistent.ts';
import type { GenerationRequest } from '../protocols/generation.ts';
import type { Call } from './endpoint.ts';

/** A call that can be answered: what is asked, of which model, and where it may come from. */
export type CheckedCall = {
  call: Call;
  request: GenerationRequest;
  model: Model;
  /** Those of the model's targets that can be told everything the caller said, in order. */
  targets: Target[];
  estimatedInputTokens: number;
};

/** Everything that costs nothing. @throws ApiError 400 */
export const checkCall = (catalog: Catalog, call: Call): CheckedCall => {
  const request = call.protocol.decodeRequest(call.body);
  assertConsistent(request);
  const model = catalog.require(request.model, call.caller.plan);
  call.note({ model: model.id, stream: request.stream });
  const estimatedInputTokens = estimateInputTokens(request);
  assertWithin(model, request, estimatedInputTokens);
  return { call, request, model, targets: targetsFor(model, request), estimatedInputTokens };
};
