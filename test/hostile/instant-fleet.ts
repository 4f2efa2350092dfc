import { systemClock } from '../../lambdas/support/clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { startInstantUpstream } from '../support/instant-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';

/** A router whose only model is on an upstream of the messages protocol that answers at once. */
export const startInstantFleet = async (): Promise<Fleet> => {
  const upstream = await startInstantUpstream(CANARIES.upstreamKey);
  const fleet = await startFleet({
    models: [modelOn([targetAt(upstream.baseUrl('messages'), { protocol: 'messages' })])],
    clock: systemClock,
    secret: CANARIES.upstreamKey,
  });
  return {
    ...fleet,
    close: async () => {
      await fleet.close();
      await upstream.close();
    },
  };
};
