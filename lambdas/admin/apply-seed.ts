import type { Plan, PlanStore } from '../stores/plan-store.ts';
import type { ProjectStore } from '../stores/project-store.ts';
import type { Clock } from '../support/clock.ts';
import { readInput, Seed } from './input.ts';
import type { AdminOperation } from './operation.ts';
import type { CheckModels } from './plans.ts';

type Parts = { projects: ProjectStore; plans: PlanStore; checkModels: CheckModels; clock: Clock };
type Outcome = { id: string; outcome: 'created' | 'changed' | 'unchanged' };

const sameModels = (one: string[] = [], other: string[] = []): boolean =>
  one.length === other.length && one.every((id, index) => id === other[index]);

const isSame = (one: Plan, other: Plan): boolean =>
  one.rpm === other.rpm &&
  one.quota === other.quota &&
  one.period === other.period &&
  sameModels(one.models, other.models);

/** Creates and updates projects and plans as a file lists them. Idempotent; removes no project or plan. */
export const createApplySeed = ({ projects, plans, checkModels, clock }: Parts): AdminOperation => {
  const applyProject = async (project: { id: string; name?: string }): Promise<Outcome> => {
    const created = await projects.createProject({ ...project, createdAt: clock.now() });
    return { id: project.id, outcome: created ? 'created' : 'unchanged' };
  };
  const applyPlan = async (plan: Plan): Promise<Outcome> => {
    const stored = await plans.findPlan(plan.id);
    if (stored && isSame(stored, plan)) return { id: plan.id, outcome: 'unchanged' };
    await plans.putPlan(plan);
    return { id: plan.id, outcome: stored ? 'changed' : 'created' };
  };
  return async ({ body }) => {
    const seed = readInput(Seed, body);
    // Validate every plan before the first write.
    for (const [index, plan] of seed.plans.entries()) checkModels(plan, `plans.${index}.models`);
    const [seededProjects, seededPlans] = await Promise.all([
      Promise.all(seed.projects.map(applyProject)),
      Promise.all(seed.plans.map(applyPlan)),
    ]);
    return { status: 200, body: { projects: seededProjects, plans: seededPlans } };
  };
};
