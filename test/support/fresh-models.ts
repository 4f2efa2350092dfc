import defaultModels from '../../lambdas/catalog/models.json' with { type: 'json' };
import { type Model, parseModels } from '../../lambdas/catalog/parse-models.ts';
import type { Family } from './families.ts';

export type FreshModels = {
  /** The default models and the fresh ones. */
  catalog: Model[];
  /** The id of a model that nobody has asked yet and whose first target speaks `protocol`. */
  next(protocol: Family): string;
};

const copyOf = (model: Model, name: string): Model => ({
  ...model,
  id: `fresh/${name}`,
  targets: model.targets.map((target) => ({ ...target, model: name })),
});

/** Models for tests with faults: a breaker that one test opens would keep the next from its target. */
export const createFreshModels = (count: number): FreshModels => {
  const defaults = parseModels(defaultModels);
  const unused = Array.from({ length: count }, (_, position) =>
    defaults.slice(0, 2).map((model) => copyOf(model, `${model.targets[0]?.protocol}-${position}`)),
  ).flat();
  return {
    catalog: [...defaults, ...unused],
    next: (protocol) => {
      const at = unused.findIndex(({ targets }) => targets[0]?.protocol === protocol);
      const [model] = at === -1 ? [] : unused.splice(at, 1);
      if (!model) throw new Error(`All ${count} fresh models are used up.`);
      return model.id;
    },
  };
};
