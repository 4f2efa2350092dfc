import type { Model } from '../catalog/catalog.ts';
import { policyText, targetsWithin } from '../catalog/policy.ts';
import type { Change } from '../stores/audit-store.ts';
import type { Plan, PlanStore } from '../stores/plan-store.ts';
import { invalidRequest, notFound } from '../support/errors.ts';
import { omitUndefined } from '../support/omit-undefined.ts';
import { changedTo } from './input.ts';
import type { Operation } from './operation.ts';

/** Rejects a plan that names models outside the catalog. @throws ApiError 400 */
export type CheckModels = (plan: Pick<Plan, 'models' | 'require'>, path?: string) => void;

/** Words that no target of the catalog has, or the whole requirement if no target that may be used meets it. */
export const unknownWords = (
  { require, models: ids }: Pick<Plan, 'models' | 'require'>,
  models: Model[],
): string[] => {
  if (!require) return [];
  const words = (['region', 'retention'] as const).flatMap((label) => {
    const known = new Set(models.flatMap(({ targets }) => targets.map((one) => one[label])));
    const unknown = require[label]?.filter((word) => !known.has(word)) ?? [];
    return unknown.map((word) => `${label} ${word}`);
  });
  const isMet = models.some(
    (model) => (ids?.includes(model.id) ?? true) && targetsWithin(model, require).length > 0,
  );
  return words.length > 0 || isMet ? words : [policyText(require)];
};

/** A misspelt model or label would otherwise be missing for every key of the plan, without an error. */
export const createCheckModels = (catalog: Model[]): CheckModels => {
  const catalogIds = catalog.map(({ id }) => id);
  return (plan, path = 'models') => {
    const { models = [] } = plan;
    const unknown = models.filter((id) => !catalogIds.includes(id));
    if (unknown.length > 0) {
      throw invalidRequest(
        `${path}: unknown model ${unknown.join(', ')}. The catalog has ${catalogIds.join(', ')}.`,
        { param: path },
      );
    }
    const [word] = unknownWords(plan, catalog);
    if (word === undefined) return;
    const param = path.replace(/models$/, 'require');
    const message = `${param}: no target of the catalog is labelled ${word}.`;
    throw invalidRequest(message, { param });
  };
};

export type PlanParts = { plans: PlanStore; checkModels: CheckModels };

export const planHandlers = ({ plans, checkModels }: PlanParts) => {
  const list: Operation<'plans.list'> = async () => {
    const data = (await plans.listPlans()).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    return { status: 200, body: { data } };
  };

  const create: Operation<'plans.create'> = async ({ input: plan }) => {
    checkModels(plan);
    if (await plans.createPlan(plan)) {
      const changes: Change[] = [{ action: 'plans.create', plan: plan.id, after: plan }];
      return { status: 201, body: plan, changes };
    }
    throw invalidRequest(`Plan '${plan.id}' already exists.`, { status: 409 });
  };

  /** Counts are kept: the new limits apply to what is already used, within 15 seconds. */
  const set: Operation<'plans.set'> = async ({ parameters: { plan: id = '' }, input }) => {
    const { models, concurrency, require, ...limits } = input;
    if (models || require)
      checkModels(omitUndefined({ models: models ?? undefined, require: require ?? undefined }));
    const changed = await plans.changePlan(id, (stored) => {
      const optional = {
        models: changedTo(models, stored.models),
        concurrency: changedTo(concurrency, stored.concurrency),
        require: changedTo(require, stored.require),
      };
      const { models: _, concurrency: __, require: ___, ...rest } = stored;
      return { ...rest, ...limits, ...omitUndefined(optional) };
    });
    switch (changed.outcome) {
      case 'changed': {
        const { before, plan: after } = changed;
        const changes: Change[] = [{ action: 'plans.set', plan: id, before, after }];
        return { status: 200, body: after, changes };
      }
      case 'missing':
        throw notFound(`Plan '${id}' not found.`);
      case 'conflict':
        throw invalidRequest(
          `Plan '${id}' was changed concurrently. List it, then repeat the change.`,
          { status: 409 },
        );
    }
  };

  return { 'plans.list': list, 'plans.create': create, 'plans.set': set };
};
