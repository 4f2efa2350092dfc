import { createApplySeed } from './admin/apply-seed.ts';
import { type AdminHandler, createAdminHandler } from './admin/create-admin-handler.ts';
import { keyHandlers } from './admin/keys.ts';
import type { AdminRoute } from './admin/operation.ts';
import { createCheckModels, planHandlers } from './admin/plans.ts';
import { projectHandlers } from './admin/projects.ts';
import { usageHandlers } from './admin/quota-usage.ts';
import type { Model } from './catalog/catalog.ts';
import type { HttpEvent } from './http/read-event.ts';
import { createKeyLifecycle } from './keys/lifecycle.ts';
import type { KeyStore } from './stores/key-store.ts';
import type { MeterStore } from './stores/meter-store.ts';
import type { PlanStore } from './stores/plan-store.ts';
import type { ProjectStore } from './stores/project-store.ts';
import type { Clock } from './support/clock.ts';
import type { RandomBytes } from './support/ids.ts';
import type { Log } from './support/log.ts';

export type AdminParts = {
  /** The router's catalog: plans may name only these models. */
  models: Model[];
  keys: KeyStore;
  plans: PlanStore;
  projects: ProjectStore;
  meters: MeterStore;
  /** Returns the operator's identity; undefined rejects the request with 403. */
  operatorOf: (event: HttpEvent) => string | undefined;
  log: Log;
  clock: Clock;
  randomBytes: RandomBytes;
};

const createRoutes = (parts: AdminParts): AdminRoute[] => {
  const lifecycle = createKeyLifecycle(parts);
  const checkModels = createCheckModels(parts.models.map(({ id }) => id));
  const all = { ...parts, lifecycle, checkModels };
  const keys = keyHandlers(all);
  const plans = planHandlers(all);
  const projects = projectHandlers(all);
  const usage = usageHandlers(all);
  const keysPath = '/admin/projects/{project}/keys';
  return [
    { method: 'POST', pattern: '/admin/apply', operate: createApplySeed(all) },
    { method: 'GET', pattern: '/admin/projects', operate: projects.list },
    { method: 'POST', pattern: '/admin/projects', operate: projects.create },
    { method: 'GET', pattern: '/admin/plans', operate: plans.list },
    { method: 'POST', pattern: '/admin/plans', operate: plans.create },
    { method: 'POST', pattern: '/admin/plans/{plan}', operate: plans.change },
    { method: 'GET', pattern: keysPath, operate: keys.list },
    { method: 'POST', pattern: keysPath, operate: keys.create },
    { method: 'POST', pattern: `${keysPath}/{key}/rotate`, operate: keys.rotate },
    { method: 'POST', pattern: `${keysPath}/{key}/revoke`, operate: keys.revoke },
    { method: 'GET', pattern: '/admin/projects/{project}/usage', operate: usage.list },
  ];
};

/** Composition root of the admin API on Lambda, in the local server and in tests. */
export const createAdmin = (parts: AdminParts): AdminHandler =>
  createAdminHandler({ ...parts, routes: createRoutes(parts) });
