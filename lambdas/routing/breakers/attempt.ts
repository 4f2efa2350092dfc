import type { Target } from '../../catalog/catalog.ts';
import type { Clock } from '../../support/clock.ts';
import type { RandomBytes } from '../../support/ids.ts';
import type { Log } from '../../support/log.ts';
import type { Upstream } from '../../upstreams/upstream.ts';
import type { Asker, Health, LocalBreakers, SharedStates } from './states.ts';
import type { TripRule } from './trip-rules.ts';

/** A permitted call in flight. */
export type Attempt = {
  target: Target;
  name: string;
  asker: Asker;
  health: Health;
  /** The one probe of all environments, while the target's breaker is half-open. */
  isProbe: boolean;
  /** A breaker that concerns the call was open or half-open when it began. */
  isConstrained: boolean;
  hasStarted: boolean;
};

/** What the permits of one environment share. */
export type PermitParts = {
  states: SharedStates;
  local: LocalBreakers;
  upstream: Pick<Upstream, 'credentialVersion'>;
  clock: Clock;
  log: Log;
  /** Spread the ends of openings. */
  randomBytes: RandomBytes;
};

/** A target that must not be called for another `waitMs`, and what opened its breaker, where that is known. */
export type OpenBreaker = {
  target: Target;
  waitMs: number;
  category?: TripRule['category'] | undefined;
};
