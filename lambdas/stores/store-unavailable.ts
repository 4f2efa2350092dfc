import { STORE_THROTTLED, STORE_UNAVAILABLE } from '../log-events.ts';

/**
 * Three attempts of a second each, with a pause if one is throttled. A read that is pending for longer was frozen by the
 * platform with the request that began it: it is not joined, since what it reads may be as old.
 */
export const LONGEST_READ_MS = 4_000;

type StoreErrorOptions = { cause?: unknown; mayBeApplied?: boolean };

/** A store failed or timed out. `cause` is private. */
export class StoreUnavailable extends Error {
  /** False if every attempt was rejected: then the write is not applied, now or later. */
  readonly mayBeApplied: boolean;

  constructor(message: string, { mayBeApplied = true, ...options }: StoreErrorOptions = {}) {
    super(message, options);
    this.name = STORE_UNAVAILABLE;
    this.mayBeApplied = mayBeApplied;
  }
}

/** The table throttled the last attempt, or the call was not sent because it would be. */
export class StoreThrottled extends StoreUnavailable {
  constructor(message: string, options: StoreErrorOptions = {}) {
    super(message, options);
    this.name = STORE_THROTTLED;
  }
}

/**
 * A later version wrote the item, and this one cannot tell what it permits. Every use of it fails, also where a copy of
 * it from before is cached.
 */
export class UnreadableItem extends StoreUnavailable {
  constructor(kind: string) {
    super(`A later version of the router wrote this ${kind}.`, { mayBeApplied: false });
    this.name = 'UnreadableItem';
  }
}

/** The failure of a call as that of another one, which was not sent because of it, or of which a copy may be applied. */
export const asNotSent = (cause: unknown, { mayBeDuplicated = false } = {}): StoreUnavailable =>
  cause instanceof StoreThrottled
    ? new StoreThrottled(cause.message, { cause, mayBeApplied: mayBeDuplicated })
    : new StoreUnavailable('The call before it failed.', { cause, mayBeApplied: mayBeDuplicated });
