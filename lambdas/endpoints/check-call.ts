import { assertWithin, targetsFor } from '../catalog/capabilities.ts';
import type { Catalog, Model, Target } from '../catalog/catalog.ts';
import { estimateInputTokens } from '../catalog/estimate-tokens.ts';
import { assertConsistent } from '../protocols/assert-consistent.ts';
import type { GenerationRequest } from '../protocols/generation.ts';
import type { Call } from './endpoint.ts';

/** A valid call: its decoded request, its model and the targets that may serve it. */
export type CheckedCall = {
  call: Call;
  request: GenerationRequest;
  model: Model;
  /** The model's targets that can carry the whole request, in catalog order. */
  targets: Target[];
  estimatedInputTokens: number;
};

/** Runs every check that is free of quota. @throws ApiError 400, 404 */
export const checkCall = (catalog: Catalog, call: Call): CheckedCall => {
  const request = call.protocol.decodeRequest(call.body);
  assertConsistent(request);
  const model = catalog.require(request.model, call.caller.plan);
  call.note({ model: model.id, stream: request.stream });
  const estimatedInputTokens = estimateInputTokens(request);
  assertWithin(model, request, estimatedInputTokens);
  return { call, request, model, targets: targetsFor(model, request), estimatedInputTokens };
};
