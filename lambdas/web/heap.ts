import { setFlagsFromString } from 'node:v8';

/**
 * Keeps V8 from allocating in the old space what it takes for long-lived, for a process with several requests in flight
 * (docs/decisions/0034-allocate-young.md).
 */
export const allocateYoung = (): void => setFlagsFromString('--no-allocation-site-pretenuring');
