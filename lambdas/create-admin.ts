import { createApplySeed } from './admin/apply-seed.ts';
import { type AdminHandler, createAdminHandler } from './admin/create-admin-handler.ts';
import { createCreateKey, createListKeys, createRevokeKey, createRotateKey } from './admin/keys.ts';
import type { AdminRoute } from './admin/operation.ts';
import {
  createChangePlan,
  createCheckModels,
  createCreatePlan,
  createListPlans,
} from './admin/plans.ts';
import { createCreateProject, createListProjects } from './admin/projects.ts';
import { createListUsage } from './admin/quota-usage.ts';
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
  /** The router's catalog: plans may only name its models. */
  models: Model[];
  keys: KeyStore;
  plans: PlanStore;
  projects: ProjectStore;
  meters: MeterStore;
  /** Who operates; undefined refuses the request. */
  operatorOf: (event: HttpEvent) => string | undefined;
  log: Log;
  clock: Clock;
  randomBytes: RandomBytes;
};

const createRoutes = (parts: AdminParts): AdminRoute[] => {
  const lifecycle = createKeyLifecycle(parts);
  const checkModels = createCheckModels(parts.models.map(({ id }) => id));
  const all = { ...parts, lifecycle, checkModels };
  const keys = '/admin/projects/{project}/keys';
  return [
    { method: 'POST', pattern: '/admin/apply', operate: createApplySeed(all) },
    { method: 'GET', pattern: '/admin/projects', operate: createListProjects(all) },
    { method: 'POST', pattern: '/admin/projects', operate: createCreateProject(all) },
    { method: 'GET', pattern: '/admin/plans', operate: createListPlans(all) },
    { method: 'POST', pattern: '/admin/plans', operate: createCreatePlan(all) },
    { method: 'POST', pattern: '/admin/plans/{plan}', operate: createChangePlan(all) },
    { method: 'GET', pattern: keys, operate: createListKeys(all) },
    { method: 'POST', pattern: keys, operate: createCreateKey(all) },
    { method: 'POST', pattern: `${keys}/{key}/rotate`, operate: createRotateKey(all) },
    { method: 'POST', pattern: `${keys}/{key}/revoke`, operate: createRevokeKey(all) },
    { method: 'GET', pattern: '/admin/projects/{project}/usage', operate: createListUsage(all) },
  ];
};

/** The one place where the parts of the operator's door meet, on Lambda, locally and in tests alike. */
export const createAdmin = (parts: AdminParts): AdminHandler =>
  createAdminHandler({ ...parts, routes: createRoutes(parts) });
