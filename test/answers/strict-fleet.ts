import { afterAll, beforeAll } from 'vitest';
import type { Model } from '../../lambdas/catalog/catalog.ts';
import { CALLER_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { type StrictUpstream, startStrictUpstream } from '../support/strict-upstream/server.ts';
import { WIRES } from '../support/wires.ts';

/** Protocols of targets. */

/** Each way from a caller to a target. */
export const PAIRS = CALLER_PROTOCOLS.flatMap((caller) => WIRES.map((wire) => ({ caller, wire })));

export const PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

/** A fleet whose models are on one strict upstream, for the tests of this file. */
export const withStrictFleet = (modelsOn: (upstream: StrictUpstream) => Model[]) => {
  const started: { upstream?: StrictUpstream; fleet?: Fleet } = {};
  beforeAll(async () => {
    started.upstream = await startStrictUpstream();
    const models = modelsOn(started.upstream);
    started.fleet = await startFleet({ models, clock: systemClock, secret: CANARIES.upstreamKey });
  });
  afterAll(async () => {
    await started.fleet?.close();
    await started.upstream?.close();
  });
  return {
    get upstream(): StrictUpstream {
      if (!started.upstream) throw new Error('not started');
      return started.upstream;
    },
    get fleet(): Fleet {
      if (!started.fleet) throw new Error('not started');
      return started.fleet;
    },
  };
};
