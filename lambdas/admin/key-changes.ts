import type { KeyLifecycle, KeyRef } from '../keys/lifecycle.ts';
import type { KeyChange, KeyRecord } from '../stores/key-store.ts';
import type { PlanStore } from '../stores/plan-store.ts';
import { UnreadableItem } from '../stores/store-unavailable.ts';
import { invalidRequest } from '../support/errors.ts';
import { requireAllowedPlan, requireAssigned } from './admit-key.ts';
import { withoutNulls } from './input.ts';
import { checkKeyLimits } from './key-limits.ts';
import type { Operation, OperationParts } from './operation.ts';
import { auditedKey, keyNotFound, publicKey } from './public-key.ts';
import { conflict } from './roles.ts';

/** @throws ApiError 400 */
export const requirePlan = async (plans: Pick<PlanStore, 'findPlan'>, id: string) => {
  const plan = await plans.findPlan(id);
  if (plan) return plan;
  throw invalidRequest(`plan: unknown plan '${id}'.`, { param: 'plan' });
};

/** A key that can be changed. @throws ApiError 404, UnreadableItem */
export const requireKey = async (lifecycle: Pick<KeyLifecycle, 'find'>, ref: KeyRef) => {
  const record = await lifecycle.find(ref);
  if (!record) throw keyNotFound(ref.projectId, ref.keyId);
  if (record.status === 'unreadable') throw new UnreadableItem('key');
  return record;
};

/** Changes of a key that keep its secret and its counters; they apply within 15 seconds. */
export const keyChangeHandlers = ({
  lifecycle,
  plans,
  projects,
  checkModels,
  clock,
}: OperationParts) => {
  const require = ({ project = '', key = '' }: Record<string, string>): Promise<KeyRecord> =>
    requireKey(lifecycle, { projectId: project, keyId: key });

  const apply = async (record: KeyRecord, change: KeyChange) => {
    const changed = await lifecycle.change(record, change);
    if (!changed) throw conflict(`Key '${record.keyId}' is revoked.`);
    const now = clock.now();
    const [before, after] = [auditedKey(changed.before, now), auditedKey(changed.after, now)];
    return {
      status: 200,
      body: publicKey(changed.after, now),
      changes: [{ plan: changed.after.planId, before, after }],
    };
  };

  const set = (async ({ parameters, input }) => {
    const record = await require(parameters);
    const limits = withoutNulls(input);
    checkModels(limits);
    checkKeyLimits(limits, await requirePlan(plans, record.planId));
    return apply(record, input);
  }) satisfies Operation<'keys.set'>;

  /** The counters stay: what is used counts against the new plan's limits. */
  const move = (async ({ parameters, input }) => {
    const record = await require(parameters);
    const { id: planId } = await requirePlan(plans, input.plan);
    const project = await projects.findProject(record.projectId);
    if (project) requireAllowedPlan(project, planId);
    await requireAssigned(plans, planId, clock.now());
    return apply(record, { planId });
  }) satisfies Operation<'keys.move'>;

  const pause = (async ({ parameters }) =>
    apply(await require(parameters), { status: 'paused' })) satisfies Operation<'keys.pause'>;

  const resume = (async ({ parameters }) =>
    apply(await require(parameters), { status: 'active' })) satisfies Operation<'keys.resume'>;

  return { 'keys.set': set, 'keys.move': move, 'keys.pause': pause, 'keys.resume': resume };
};
