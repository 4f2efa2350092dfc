import type { Model, Target } from '../../lambdas/catalog/catalog.ts';
import type { Prices } from './facts.ts';
import type { Deployment, Group } from './litellm-models.ts';

const FROM = '2020-01-01';

/** LiteLLM spreads requests by `weight` or else by `rpm`, and equally if one deployment has neither. */
const withShares = (deployments: Deployment[], firstTier: number, isTiered: boolean): Target[] => {
  if (!isTiered) return deployments.map(({ target }) => target);
  const orders = [...new Set(deployments.map(({ order }) => order))].toSorted((a, b) => a - b);
  const most = Math.max(...deployments.map(({ share }) => share));
  const hasShares = deployments.every(({ share }) => share > 0);
  return deployments.map(({ target, order, share }) => ({
    ...target,
    tier: firstTier + orders.indexOf(order),
    ...(hasShares && share !== most && { weight: Math.max(0.001, share / most) }),
  }));
};

/** The public prices of a model are all that a target bills. */
const areAll = ({ input, output, cache_read, ...others }: Prices, model?: Prices): boolean =>
  input === model?.input &&
  output === model.output &&
  cache_read === model.cache_read &&
  Object.keys(others).length === 0;

/** What a target bills, where it is not what its model says: null where no price is known. */
export const priced = (
  { target, known: { prices } }: Pick<Deployment, 'target' | 'known'>,
  model: Prices | undefined,
): Target => {
  if (prices && areAll(prices, model)) return target;
  const version = { from: FROM, ...(prices ?? { input: null, output: null }) };
  return { ...target, prices: { currency: 'USD', versions: [version] } };
};

/** The tiers of a group, and below them those of the groups that it falls back to. */
const targetsOf = (groups: Group[], model: Prices | undefined): Target[] => {
  const isTiered = groups.some(({ deployments }) => deployments.length > 1);
  const targets: Target[] = [];
  for (const { deployments } of groups) {
    const own = deployments.map((deployment) => ({
      ...deployment,
      target: priced(deployment, model),
    }));
    const last = targets.at(-1)?.tier ?? -1;
    targets.push(
      ...withShares(own, last + 1, isTiered).toSorted((a, b) => (a.tier ?? 0) - (b.tier ?? 0)),
    );
  }
  return targets;
};

export const modelOf = (
  [group, ...fallbacks]: [Group, ...Group[]],
  named: Pick<Model, 'id' | 'created'> & { aliases: string[] },
): Model => {
  const [first] = group.deployments;
  if (!first) throw new Error('A group has a deployment.');
  const { members, prices } = first.known;
  const { id, created, aliases } = named;
  return {
    id,
    ...(aliases.length > 0 && { aliases }),
    display_name: group.name,
    created,
    owned_by: first.provider,
    ...members,
    targets: targetsOf([group, ...fallbacks], prices),
  };
};
