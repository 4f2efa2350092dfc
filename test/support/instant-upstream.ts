import { randomBytes } from 'node:crypto';
import { type Clock, systemClock } from '../../lambdas/support/clock.ts';
import { startEmbeddedUpstream } from '../../local/embedded-upstream/server.ts';

/** An embedded upstream that takes one credential and makes no pauses. */
export const startInstantUpstream = (
  credential: string,
  clock: Clock = systemClock,
  options: { failureText?: string } = {},
) =>
  startEmbeddedUpstream({
    credentials: new Set([credential]),
    delayMs: 0,
    clock,
    randomBytes,
    ...options,
  });
