import { createApplySeed } from './admin/apply-seed.ts';
import { type AdminHandler, createAdminHandler } from './admin/create-admin-handler.ts';
import { type DoctorParts, doctorHandlers } from './admin/doctor.ts';
import { historyHandlers } from './admin/history.ts';
import { keyHandlers } from './admin/keys.ts';
import type { AdminRoute } from './admin/operation.ts';
import { createCheckModels, planHandlers } from './admin/plans.ts';
import { projectHandlers } from './admin/projects.ts';
import { usageHandlers } from './admin/quota-usage.ts';
import { requestHandlers } from './admin/requests.ts';
import type { Model } from './catalog/catalog.ts';
import { createHistoryJob, type HistoryJob } from './history/history-job.ts';
import type { HttpEvent } from './http/read-event.ts';
import { createKeyLifecycle } from './keys/lifecycle.ts';
import type { HistoryStore } from './stores/history-store.ts';
import type { KeyStore } from './stores/key-store.ts';
import type { MeterStore } from './stores/meter-store.ts';
import type { PlanStore } from './stores/plan-store.ts';
import type { ProjectStore } from './stores/project-store.ts';
import type { RecordStore } from './stores/record-store.ts';
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
  records: RecordStore;
  history: HistoryStore;
  /** For the doctor's calls to targets. */
  secrets: DoctorParts['secrets'];
  upstream: DoctorParts['upstream'];
  /** Returns the operator's identity; undefined rejects the request with 403. */
  operatorOf: (event: HttpEvent) => string | undefined;
  log: Log;
  clock: Clock;
  randomBytes: RandomBytes;
};

const createRoutes = (parts: AdminParts, runHistory: HistoryJob): AdminRoute[] => {
  const lifecycle = createKeyLifecycle(parts);
  const checkModels = createCheckModels(parts.models.map(({ id }) => id));
  const all = { ...parts, runHistory, lifecycle, checkModels };
  const keys = keyHandlers(all);
  const plans = planHandlers(all);
  const projects = projectHandlers(all);
  const usage = usageHandlers(all);
  const requests = requestHandlers(all);
  const history = historyHandlers(all);
  const doctor = doctorHandlers(all);
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
    { method: 'GET', pattern: '/admin/usage', operate: history.usage },
    {
      method: 'GET',
      pattern: '/admin/projects/{project}/statements/{month}',
      operate: history.statement,
    },
    { method: 'POST', pattern: '/admin/history/reconcile', operate: history.reconcile },
    { method: 'GET', pattern: '/admin/requests', operate: requests.list },
    { method: 'GET', pattern: '/admin/requests/{request}', operate: requests.find },
    { method: 'GET', pattern: '/admin/checks', operate: doctor.check },
    { method: 'POST', pattern: '/admin/targets/test', operate: doctor.test },
  ];
};

export type Admin = {
  handler: AdminHandler;
  /** Brings the history up to date; the schedule of the stack runs it, and the local server. */
  runHistory: HistoryJob;
};

/** Composition root of the admin API on Lambda, in the local server and in tests. */
export const createAdmin = (parts: AdminParts): Admin => {
  const runHistory = createHistoryJob(parts);
  const routes = createRoutes(parts, runHistory);
  return { handler: createAdminHandler({ ...parts, routes }), runHistory };
};
