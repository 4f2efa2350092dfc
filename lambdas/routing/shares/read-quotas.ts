import { quotaNameOf } from '../../catalog/account.ts';
import type { Model } from '../../catalog/catalog.ts';
import type { ShareStore } from '../../stores/notes.ts';
import type { Clock } from '../../support/clock.ts';
import { stateOf } from './fair-queue.ts';
import { queueIn } from './queue-text.ts';
import { limitsOf } from './quota.ts';

type Parts = {
  models: Model[];
  openShares?: (() => Pick<ShareStore, 'readQueue'>) | undefined;
  clock: Clock;
};

/** The state of each quota that targets declare, from its item. @throws StoreUnavailable */
export const createReadQuotas =
  ({ models, openShares, clock }: Parts) =>
  async () => {
    const targets = models.flatMap((model) => model.targets);
    const declared = new Map(
      targets.flatMap((one) => (one.quota ? [[quotaNameOf(one), one.quota] as const] : [])),
    );
    if (!openShares || declared.size === 0) return [];
    const store = openShares();
    return Promise.all(
      [...declared].map(async ([quota, members]) => {
        const queue = queueIn((await store.readQueue(quota))?.text);
        const limits = members.learned ? (queue?.limits ?? {}) : limitsOf(members);
        return { quota, limits, ...stateOf(queue, { limits }, clock.now()) };
      }),
    );
  };
