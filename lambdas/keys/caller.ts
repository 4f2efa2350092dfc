import type { Plan } from '../stores/plan-store.ts';

/** The holder of an authenticated key, with the key's plan. */
export type Caller = { keyId: string; projectId: string; meterId: string; plan: Plan };
