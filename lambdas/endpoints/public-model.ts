import type { Model } from '../catalog/catalog.ts';

/** A model as both families' SDKs and the model discovery of agents read it: each looks for its own fields. */
export const publicModel = ({ targets: _, ...model }: Model): Record<string, unknown> => ({
  ...model,
  object: 'model',
  type: 'model',
  created_at: new Date(model.created * 1000).toISOString(),
  max_input_tokens: model.context_length,
  max_tokens: model.max_output_tokens,
});
