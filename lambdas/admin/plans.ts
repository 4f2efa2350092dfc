import type { Change } from '../stores/audit-store.ts';
import type { Plan, PlanStore } from '../stores/plan-store.ts';
import { invalidRequest, notFound } from '../support/errors.ts';
import { omitUndefined } from '../support/omit-undefined.ts';
import { changedTo } from './input.ts';
import type { Operation } from './operation.ts';

/** Rejects a plan that names models outside the catalog. @throws ApiError 400 */
export type CheckModels = (plan: Pick<Plan, 'models'>, path?: string) => void;

/** A misspelt model would otherwise be missing for every key of the plan, without an error. */
export const createCheckModels =
  (catalogIds: string[]): CheckModels =>
  ({ models = [] }, path = 'models') => {
    const unknown = models.filter((id) => !catalogIds.includes(id));
    if (unknown.length === 0) return;
    throw invalidRequest(
      `${path}: unknown model ${unknown.join(', ')}. The catalog has ${catalogIds.join(', ')}.`,
      { param: path },
    );
  };

export const planHandlers = ({
  plans,
  checkModels,
}: {
  plans: PlanStore;
  checkModels: CheckModels;
}) => {
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
    const { models, concurrency, ...limits } = input;
    if (models) checkModels({ models });
    const changed = await plans.changePlan(id, (stored) => {
      const optional = {
        models: changedTo(models, stored.models),
        concurrency: changedTo(concurrency, stored.concurrency),
      };
      const { models: _, concurrency: __, ...rest } = stored;
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
