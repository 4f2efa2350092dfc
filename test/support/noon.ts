import { type Clock, systemClock } from '../../lambdas/support/clock.ts';

/** The UTC day (`2026-11-30`) and the month of the machine when the worker starts. */
export const TODAY = new Date().toISOString().slice(0, 10);
export const MONTH = TODAY.slice(0, 7);

const ahead = Date.parse(`${TODAY}T12:00:00Z`) - Date.now();

/** The system's clock from noon of `TODAY` on: the requests of a file are of one day, also around midnight. */
export const noonClock: Clock = { now: () => Date.now() + ahead, after: systemClock.after };
