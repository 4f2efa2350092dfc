import type { CheckModels } from '../catalog/scope.ts';
import type { Change } from '../stores/audit-store.ts';
import type { PlanStore } from '../stores/plan-store.ts';
import { invalidRequest, notFound } from '../support/errors.ts';
import { omitUndefined } from '../support/omit-undefined.ts';
import { changedTo } from './input.ts';
import type { Operation } from './operation.ts';

export type PlanParts = { plans: PlanStore; checkModels: CheckModels };

export const planHandlers = ({ plans, checkModels }: PlanParts) => {
  const list = (async () => {
    const data = (await plans.listPlans()).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    return { status: 200, body: { data } };
  }) satisfies Operation<'plans.list'>;

  const create = (async ({ input: plan }) => {
    checkModels(plan);
    if (await plans.createPlan(plan)) {
      const changes: Change[] = [{ action: 'plans.create', plan: plan.id, after: plan }];
      return { status: 201, body: plan, changes };
    }
    throw invalidRequest(`Plan '${plan.id}' already exists.`, { status: 409 });
  }) satisfies Operation<'plans.create'>;

  /** Counts are kept: the new limits apply to what is already used, within 15 seconds. */
  const set = (async ({ parameters: { plan: id = '' }, input }) => {
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
  }) satisfies Operation<'plans.set'>;

  return { 'plans.list': list, 'plans.create': create, 'plans.set': set };
};
