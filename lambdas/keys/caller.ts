import type { Plan } from '../stores/plan-store.ts';

/** Who calls: an authenticated key and what its plan allows. */
export type Caller = { keyId: string; projectId: string; meterId: string; plan: Plan };
