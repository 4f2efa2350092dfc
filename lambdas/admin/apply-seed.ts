import type { Made } from '../stores/audit-store.ts';
import { isSamePlan, type Plan } from '../stores/plan-store.ts';
import type { Operation, OperationParts } from './operation.ts';

type Outcome = { id: string; outcome: 'created' | 'changed' | 'kept' | 'unchanged' };
/** The outcome of one entry of the file, and the change that was made for it. */
type Applied = { outcome: Outcome; changes: Made[] };

const applied = (id: string, outcome: Outcome['outcome'], ...changes: Made[]): Applied => ({
  outcome: { id, outcome },
  changes,
});

const outcomesOf = (all: Applied[]): Outcome[] => all.map(({ outcome }) => outcome);

/**
 * Creates the projects and plans that a file lists. Idempotent; removes no project or plan. A plan that differs
 * from the file is kept unless `force` is true: an operator may have raised its limit since the file was written.
 */
export const createApplySeed = ({ projects, plans, checkModels, clock }: OperationParts) => {
  const applyProject = async (project: { id: string; name?: string }): Promise<Applied> => {
    const { id } = project;
    const isCreated = await projects.createProject({ ...project, createdAt: clock.now() });
    if (!isCreated) return applied(id, 'unchanged');
    return applied(id, 'created', { action: 'projects.create', project: id, after: project });
  };
  const applyPlan = async (plan: Plan, force: boolean): Promise<Applied> => {
    const { id } = plan;
    if (await plans.createPlan(plan)) {
      return applied(id, 'created', { action: 'plans.create', plan: id, after: plan });
    }
    const before = await plans.findPlan(id);
    if (before && isSamePlan(before, plan)) return applied(id, 'unchanged');
    if (!force) return applied(id, 'kept');
    await plans.putPlan(plan);
    return applied(id, 'changed', { action: 'plans.set', plan: id, before, after: plan });
  };
  const apply = (async ({ input: seed }) => {
    // Validate every plan before the first write.
    for (const [index, plan] of seed.plans.entries()) checkModels(plan, `plans.${index}.models`);
    const [seededProjects, seededPlans] = await Promise.all([
      Promise.all(seed.projects.map(applyProject)),
      Promise.all(seed.plans.map((plan) => applyPlan(plan, seed.force))),
    ]);
    return {
      status: 200,
      body: { projects: outcomesOf(seededProjects), plans: outcomesOf(seededPlans) },
      changes: [...seededProjects, ...seededPlans].flatMap(({ changes }) => changes),
    };
  }) satisfies Operation<'apply'>;
  return { apply };
};
