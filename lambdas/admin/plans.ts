import { notFound } from '../support/errors.ts';
import { changedBy, withoutNulls } from './input.ts';
import type { Operation, OperationParts } from './operation.ts';
import { changedMeanwhile, conflict } from './roles.ts';

export const planHandlers = ({ plans, checkModels }: OperationParts) => {
  const list = (async () => {
    const data = (await plans.listPlans()).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    return { status: 200, body: { data } };
  }) satisfies Operation<'plans.list'>;

  const create = (async ({ input: plan }) => {
    checkModels(plan);
    if (await plans.createPlan(plan)) {
      return { status: 201, body: plan, changes: [{ plan: plan.id, after: plan }] };
    }
    throw conflict(`Plan '${plan.id}' already exists.`);
  }) satisfies Operation<'plans.create'>;

  /** Counts are kept: the new limits apply to what is already used, within 15 seconds. */
  const set = (async ({ parameters: { plan: id = '' }, input }) => {
    checkModels(withoutNulls(input));
    const changed = await plans.changePlan(id, (stored) => changedBy(input, stored));
    if (changed.outcome === 'missing') throw notFound(`Plan '${id}' not found.`);
    if (changed.outcome === 'conflict') throw changedMeanwhile(`Plan '${id}'`);
    const { before, plan: after } = changed;
    return { status: 200, body: after, changes: [{ before, after }] };
  }) satisfies Operation<'plans.set'>;

  return { 'plans.list': list, 'plans.create': create, 'plans.set': set };
};
