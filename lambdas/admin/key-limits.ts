import type { KeyLimits } from '../stores/key-store.ts';
import type { Plan } from '../stores/plan-store.ts';
import { invalidRequest } from '../support/errors.ts';

const aboveOf = (limits: KeyLimits, plan: Plan): string | undefined => {
  for (const name of ['rpm', 'quota', 'concurrency'] as const) {
    const [limit, most] = [limits[name], plan[name]];
    if (limit !== undefined && most !== undefined && limit > most) return name;
  }
  return undefined;
};

/**
 * Rejects limits that a key would not have, because its plan's are lower. A plan may be lowered later: the lower
 * limit applies. @throws ApiError 400
 */
export const checkKeyLimits = (limits: KeyLimits, plan: Plan): void => {
  const above = aboveOf(limits, plan);
  if (above !== undefined) {
    const most = plan[above as 'rpm'];
    throw invalidRequest(`${above}: must be at most ${most}, the limit of plan '${plan.id}'.`, {
      param: above,
    });
  }
  const allowed = plan.models;
  const denied = (limits.models ?? []).filter((id) => allowed && !allowed.includes(id));
  if (denied.length === 0) return;
  throw invalidRequest(`models: plan '${plan.id}' does not allow ${denied.join(', ')}.`, {
    param: 'models',
  });
};
