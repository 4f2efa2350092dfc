import { policyNotMet, validModelsText } from '#late/media';
import type { Prices, PublicPrices } from '../money/prices.ts';
import { invalidRequest } from '../support/errors.ts';
import { oncePer } from '../support/memo.ts';
import type { Model, Target } from './parse-models.ts';
import { type Dated, isRetired, retiredText, retirementHeaders } from './retirement.ts';

export const LABELS = ['region', 'retention'] as const;

/** What the operator states of the place behind a target: free words, which nothing proves. */
export type Labels = { [Label in (typeof LABELS)[number]]?: string | undefined };

/** The words that a plan accepts for each label; a target without the label has none of them. */
export type Policy = { [Label in (typeof LABELS)[number]]?: string[] | undefined };

const isWithin = (target: Labels, policy: Policy): boolean =>
  LABELS.every((label) => policy[label]?.includes(target[label] ?? '') ?? true);

/** Where a key and its plan accept different words. */
const NONE = '(none that both key and plan accept)';

/** `region eu or us and retention none` */
export const policyText = (policy: Policy): string =>
  LABELS.flatMap((label) =>
    policy[label] ? [`${label} ${policy[label].join(' or ') || NONE}`] : [],
  ).join(' and ');

type Placed<Target> = { id: string; targets: Target[] };

/** The targets that a request may be sent to, also by failover; all without a policy. */
export const targetsWithin = <Target extends Labels>(
  { targets }: Pick<Placed<Target>, 'targets'>,
  policy: Policy | undefined,
): Target[] => (policy ? targets.filter((target) => isWithin(target, policy)) : targets);

/** The same. @throws ApiError 400 that names the policy, if there are none */
export const requireWithin = <Target extends Labels>(
  model: Placed<Target> & Dated,
  policy: Policy | undefined,
  asked: Dated = model,
): Target[] => {
  const within = targetsWithin(model, policy);
  if (within.length > 0 || !policy) return within;
  throw policyNotMet(policyText(policy), model.id, retirementHeaders(asked, model));
};

export type { Model, Target };

/** The name of a target in logs, breakers and lessons. The same text for each call: a lookup hashes every other one. */
export const nameOf = oncePer(
  new WeakMap<Target, string>(),
  ({ upstream, model }) => `${upstream}/${model}`,
);

const publicPrices = oncePer(
  new WeakMap<PublicPrices, Prices>(),
  ({ input_price_per_m: input, output_price_per_m: output, cached_input_price_per_m: cached }) => ({
    versions: [{ from: '', input, output, cache_read: cached ?? input }],
  }),
);

/** A target's own prices, else the public ones of its model. */
export const pricesOf = (model: PublicPrices, target: { prices?: Prices | undefined }): Prices =>
  target.prices ?? publicPrices(model);

/** What of a plan decides which models it may route to. */
type Scope = { models?: string[] | undefined; require?: Policy | undefined };

export type Catalog = {
  /** The models a plan may route to and that are not retired at an instant (ms), in catalog order. */
  modelsFor(plan: Scope, now: number): Model[];
  /**
   * The model with this id, else with this alias, else with the id or alias that follows a client's
   * prefixes, as in `openai/vendor/model`; undefined if no or several models fit, or the plan lacks it.
   */
  find(name: string, plan: { models?: string[] | undefined }): Model | undefined;
  /** The sentence for a caller about a name that `find` does not find: no model has it, or one outside of the plan. */
  unknownText(name: string): string;
  /**
   * The model that answers for the one with this name: itself, or after its retirement its successor, if the catalog says so.
   * @throws ApiError 400 that lists every valid id, near matches first, or names the successor
   */
  require(name: string, plan: Scope, now: number): Answering;
  /** The model that answers for another at an instant; undefined after its retirement. */
  answering(asked: Model, now: number): Model | undefined;
};

/** The model that a caller names, and the one that answers, which is nearly always the same. */
type Answering = { asked: Model; model: Model };

/** Maximum length of a caller's text in an error. */
const ECHO_LIMIT = 100;

/** Ids and aliases have two or three segments; clients add one or two. */
const MAX_SEGMENTS = 8;

/** `a/b/c` -> `b/c`, `c`: what is left of a name without its first segments. */
const withoutPrefixes = (name: string): string[] => {
  const segments = name.split('/', MAX_SEGMENTS);
  return segments.slice(1).map((_, index) => segments.slice(index + 1).join('/'));
};

/** Finds a model by a caller's name for it. A plan does not change what a name means. */
const createResolve = (models: Model[]): ((name: string) => Model | undefined) => {
  const byName = new Map<string, Model>();
  for (const model of models) {
    for (const name of [model.id, ...(model.aliases ?? [])]) byName.set(name, model);
  }
  return (name) => {
    const exact = byName.get(name);
    if (exact) return exact;
    const found = new Set(withoutPrefixes(name).flatMap((rest) => byName.get(rest) ?? []));
    return found.size === 1 ? [...found][0] : undefined;
  };
};

/** A plan without `models` may use all of them. */
export const createCatalog = (models: Model[]): Catalog => {
  const resolve = createResolve(models);
  const modelsFor: Catalog['modelsFor'] = ({ models: allowed, require: policy }, now) =>
    models.filter(
      (model) =>
        (!allowed || allowed.includes(model.id)) &&
        !isRetired(model, now) &&
        targetsWithin(model, policy).length > 0,
    );
  const find: Catalog['find'] = (name, { models: allowed }) => {
    const model = resolve(name);
    return model && allowed && !allowed.includes(model.id) ? undefined : model;
  };
  const unknownText: Catalog['unknownText'] = (name) => {
    const is = resolve(name) ? 'is not in the models of your key' : 'does not exist';
    return `The model '${name.slice(0, ECHO_LIMIT)}' ${is}.`;
  };
  /** Ends, because a successor is retired later. */
  const answering: Catalog['answering'] = (asked, now) => {
    if (asked.retires === undefined || !isRetired(asked, now)) return asked;
    const next = asked.afterwards && models.find(({ id }) => id === asked.successor);
    return next && answering(next, now);
  };
  const require: Catalog['require'] = (name, plan, now) => {
    const asked = find(name, plan);
    const model = asked && answering(asked, now);
    if (model) return { asked, model };
    const list = validModelsText(
      name,
      modelsFor(plan, now).map((entry) => entry.id),
    );
    const options = { code: 'model_not_found', param: 'model', list };
    if (!asked) throw invalidRequest(unknownText(name), options);
    throw invalidRequest(retiredText(asked), { ...options, headers: retirementHeaders(asked) });
  };
  return { modelsFor, find, unknownText, require, answering };
};
