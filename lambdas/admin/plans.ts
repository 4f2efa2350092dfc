import type { Plan, PlanStore } from '../stores/plan-store.ts';
import { invalidRequest, notFound } from '../support/errors.ts';
import { NewPlan, PlanChange, readInput } from './input.ts';
import type { AdminOperation } from './operation.ts';

/** Throws ApiError 400 when a plan names models that the catalog does not have. */
export type CheckModels = (plan: Pick<Plan, 'models'>, path?: string) => void;

/** A misspelt model would hide itself from every key of the plan. */
export const createCheckModels =
  (catalogIds: string[]): CheckModels =>
  ({ models = [] }, path = 'models') => {
    const unknown = models.filter((id) => !catalogIds.includes(id));
    if (unknown.length === 0) return;
    throw invalidRequest(
      `${path}: the catalog has no ${unknown.join(', ')}. It has ${catalogIds.join(', ')}.`,
      { param: path },
    );
  };

type Parts = { plans: PlanStore; checkModels: CheckModels };

export const createListPlans =
  ({ plans }: Pick<Parts, 'plans'>): AdminOperation =>
  async () => {
    const data = (await plans.listPlans()).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    return { status: 200, body: { data } };
  };

export const createCreatePlan =
  ({ plans, checkModels }: Parts): AdminOperation =>
  async ({ body }) => {
    const plan = readInput(NewPlan, body);
    checkModels(plan);
    if (await plans.findPlan(plan.id)) {
      throw invalidRequest(`The plan '${plan.id}' exists already.`, { status: 409 });
    }
    await plans.putPlan(plan);
    return { status: 201, body: plan };
  };

/** Counts stay where they are: a change of limits applies to what is used already, within 15 seconds. */
export const createChangePlan =
  ({ plans, checkModels }: Parts): AdminOperation =>
  async ({ parameters: { plan: id = '' }, body }) => {
    const { models, ...limits } = readInput(PlanChange, body);
    const stored = await plans.findPlan(id);
    if (!stored) throw notFound(`There is no plan '${id}'.`);
    const { models: storedModels, ...rest } = stored;
    const allowed = models === undefined ? storedModels : (models ?? undefined);
    const plan: Plan = { ...rest, ...limits, ...(allowed && { models: allowed }) };
    if (models) checkModels(plan);
    await plans.putPlan(plan);
    return { status: 200, body: plan };
  };
