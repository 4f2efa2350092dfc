import type { publicProject } from '../../lambdas/admin/projects.ts';
import type { publicKey } from '../../lambdas/admin/public-key.ts';
import type { KeyUsage } from '../../lambdas/admin/quota-usage.ts';
import type { Plan as StoredPlan } from '../../lambdas/stores/plan-store.ts';

/** What the admin API responds with; every list has the member `data`. */
export type List<T> = { data: T[] };
export type Key = ReturnType<typeof publicKey>;
/** A new key, or a successor; the only responses that contain the key itself. */
export type NewKey = Key & { key: string };
export type Project = ReturnType<typeof publicProject>;
export type Plan = StoredPlan;
export type { KeyUsage };
