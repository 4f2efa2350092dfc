import type { Model, Target } from '../../lambdas/catalog/catalog.ts';

/** A target on a server of the test's own; `upstream` and `model` together name its breaker. */
export const targetAt = (url: string, extra: Partial<Target> = {}): Target => ({
  upstream: 'primary',
  protocol: 'chat',
  baseUrl: url,
  model: 'large',
  secret: 'secret',
  ...extra,
});

/** A roomy model on the given targets. */
export const modelOn = (targets: Target[], extra: Partial<Model> = {}): Model => ({
  id: 'vendor/model',
  display_name: 'Model',
  created: 1_767_225_600,
  owned_by: 'vendor',
  context_length: 1_000_000,
  max_output_tokens: 100_000,
  streaming: true,
  tools: true,
  vision: false,
  input_price_per_m: 1,
  output_price_per_m: 2,
  targets,
  ...extra,
});

/** A model on one target, which is called as the protocol says. */
export const modelOf = (
  protocol: Target['protocol'],
  url: string,
  extra: Partial<Model> = {},
): Model =>
  modelOn([targetAt(url, { protocol, upstream: protocol })], {
    id: `vendor/${protocol}`,
    ...extra,
  });

/** A model on the server at `url` alone, `v/NAME`, and one whose next target is called where that fails, `two/NAME`. */
export const aloneAndWithNext = (
  url: string,
  model: string,
  protocol: Target['protocol'] = 'chat',
): Model[] => {
  const first = targetAt(url, { protocol, model, upstream: model });
  const next = { ...first, model: 'second', upstream: 'second' };
  return [
    modelOn([first], { id: `v/${model}` }),
    modelOn([{ ...first, upstream: `first-${model}` }, next], { id: `two/${model}` }),
  ];
};
