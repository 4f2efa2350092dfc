import { STORE_THROTTLED, STORE_UNAVAILABLE } from '../log-events.ts';

/** A store failed or timed out. Whether its write was applied is unknown. `cause` is private. */
export class StoreUnavailable extends Error {
  constructor(message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = STORE_UNAVAILABLE;
  }
}

/** The table throttled the last attempt. */
export class StoreThrottled extends StoreUnavailable {
  constructor(message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = STORE_THROTTLED;
  }
}
