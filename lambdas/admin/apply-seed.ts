import { isSamePlan, type Plan, type PlanStore } from '../stores/plan-store.ts';
import type { ProjectStore } from '../stores/project-store.ts';
import type { Clock } from '../support/clock.ts';
import { readInput, Seed } from './input.ts';
import type { AdminOperation } from './operation.ts';
import type { CheckModels } from './plans.ts';

type Parts = { projects: ProjectStore; plans: PlanStore; checkModels: CheckModels; clock: Clock };
type Outcome = { id: string; outcome: 'created' | 'changed' | 'kept' | 'unchanged' };

/**
 * Creates the projects and plans that a file lists. Idempotent; removes no project or plan. A plan that differs
 * from the file is kept unless `force` is true: an operator may have raised its limit since the file was written.
 */
export const createApplySeed = ({ projects, plans, checkModels, clock }: Parts): AdminOperation => {
  const applyProject = async (project: { id: string; name?: string }): Promise<Outcome> => {
    const created = await projects.createProject({ ...project, createdAt: clock.now() });
    return { id: project.id, outcome: created ? 'created' : 'unchanged' };
  };
  const applyPlan = async (plan: Plan, force: boolean): Promise<Outcome> => {
    const { id } = plan;
    if (await plans.createPlan(plan)) return { id, outcome: 'created' };
    const stored = await plans.findPlan(id);
    if (stored && isSamePlan(stored, plan)) return { id, outcome: 'unchanged' };
    if (!force) return { id, outcome: 'kept' };
    await plans.putPlan(plan);
    return { id, outcome: 'changed' };
  };
  return async ({ body }) => {
    const seed = readInput(Seed, body);
    // Validate every plan before the first write.
    for (const [index, plan] of seed.plans.entries()) checkModels(plan, `plans.${index}.models`);
    const [seededProjects, seededPlans] = await Promise.all([
      Promise.all(seed.projects.map(applyProject)),
      Promise.all(seed.plans.map((plan) => applyPlan(plan, seed.force))),
    ]);
    return { status: 200, body: { projects: seededProjects, plans: seededPlans } };
  };
};
