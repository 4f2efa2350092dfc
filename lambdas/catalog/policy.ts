import { invalidRequest } from '../support/errors.ts';
import { type Dated, retirementHeaders } from './retirement.ts';

export const LABELS = ['region', 'retention'] as const;

/** What the operator states of the place behind a target: free words, which nothing proves. */
export type Labels = { [Label in (typeof LABELS)[number]]?: string | undefined };

/** The words that a plan accepts for each label; a target without the label has none of them. */
export type Policy = { [Label in (typeof LABELS)[number]]?: string[] | undefined };

const isWithin = (target: Labels, policy: Policy): boolean =>
  LABELS.every((label) => policy[label]?.includes(target[label] ?? '') ?? true);

/** Where a key and its plan accept different words. */
const NONE = '(none that both key and plan accept)';

/** `region eu or us and retention none` */
export const policyText = (policy: Policy): string =>
  LABELS.flatMap((label) =>
    policy[label] ? [`${label} ${policy[label].join(' or ') || NONE}`] : [],
  ).join(' and ');

type Placed<Target> = { id: string; targets: Target[] };

/** The targets that a request may be sent to, also by failover; all without a policy. */
export const targetsWithin = <Target extends Labels>(
  { targets }: Pick<Placed<Target>, 'targets'>,
  policy: Policy | undefined,
): Target[] => (policy ? targets.filter((target) => isWithin(target, policy)) : targets);

/** The same. @throws ApiError 400 that names the policy, if there are none */
export const requireWithin = <Target extends Labels>(
  model: Placed<Target> & Dated,
  policy: Policy | undefined,
  asked: Dated = model,
): Target[] => {
  const within = targetsWithin(model, policy);
  if (within.length > 0 || !policy) return within;
  throw invalidRequest(
    `Your key or its plan requires ${policyText(policy)}, and no provider of the model '${model.id}' has it.`,
    { code: 'policy_not_met', param: 'model', headers: retirementHeaders(asked, model) },
  );
};
