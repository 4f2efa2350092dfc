import type { KeyLimits } from '../stores/key-store.ts';
import type { Plan } from '../stores/plan-store.ts';
import { invalidRequest } from '../support/errors.ts';

/**
 * Rejects limits that a key would not have, because its plan's are lower. A plan may be lowered later: the lower
 * limit applies. @throws ApiError 400
 */
export const checkKeyLimits = (limits: KeyLimits, plan: Plan): void => {
  for (const name of ['rpm', 'quota', 'concurrency'] as const) {
    const [limit, highest] = [limits[name], plan[name]];
    if (limit !== undefined && highest !== undefined && limit > highest) {
      const message = `${name}: must be at most ${highest}, the limit of plan '${plan.id}'.`;
      throw invalidRequest(message, { param: name });
    }
  }
  const allowed = plan.models;
  const denied = (limits.models ?? []).filter((id) => allowed && !allowed.includes(id));
  if (denied.length === 0) return;
  throw invalidRequest(`models: plan '${plan.id}' does not allow ${denied.join(', ')}.`, {
    param: 'models',
  });
};
