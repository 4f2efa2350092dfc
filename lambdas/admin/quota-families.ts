import { limitsIn } from '../protocols/provider-limits.ts';
import type { MetricFamily } from '../support/open-metrics.ts';

/** What is left of the quota of a provider's account, and how many projects wait for it. */
export type QuotaState = {
  quota: string;
  /** By what they limit: a minute's, and what of it may be sent now. */
  limits: Record<string, number>;
  left: Record<string, number>;
  waiting: number;
};

/** As many series as the catalog declares quotas of up to four kinds; none without any. */
export const quotaFamilies = (states: QuotaState[]): MetricFamily[] => {
  if (states.length === 0) return [];
  const split = (amountsOf: (state: QuotaState) => Record<string, number>) =>
    states.flatMap((state) =>
      Object.entries(amountsOf(state)).map(
        ([of, amount]) => [{ quota: state.quota, of }, amount] as const,
      ),
    );
  return [
    {
      ...{ name: 'model_router_quota_per_minute', type: 'gauge' },
      help: "What a provider's account admits a minute, as declared or learned.",
      points: split(({ limits }) => limits),
    },
    {
      ...{ name: 'model_router_quota_left', type: 'gauge' },
      help: 'What of it may be sent at once: at most what is refilled in 5 s.',
      points: split(({ left }) => left),
    },
    {
      ...{ name: 'model_router_quota_waiting', type: 'gauge' },
      help: 'Projects that wait for it.',
      points: states.map(({ quota, waiting }) => [{ quota }, waiting]),
    },
  ];
};

/** What providers stated last, by account and model. */
export const limitFamilies = (all: { name: string; limits: string }[]): MetricFamily[] => {
  const stated = all.flatMap(({ name, limits }) =>
    limitsIn(limits).map(({ of, per, ...amounts }) => ({
      labels: { quota: name, of, per },
      ...amounts,
    })),
  );
  return [
    {
      ...{ name: 'model_router_provider_limit_left', type: 'gauge' },
      help: "What a provider's latest response of the last hour had left for an account and model.",
      points: stated.map(({ labels, remaining }) => [labels, remaining]),
    },
    {
      ...{ name: 'model_router_provider_limit', type: 'gauge' },
      help: 'Of how much.',
      points: stated.flatMap(({ labels, limit }) => (limit === undefined ? [] : [[labels, limit]])),
    },
  ];
};
