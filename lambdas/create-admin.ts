import { createAdmitKey } from './admin/admit-key.ts';
import { createAudit } from './admin/audit.ts';
import { CONSOLE_API, type ConsoleParts, isConsoleFile } from './admin/console.ts';
import { type AdminHandler, createAdminHandler } from './admin/create-admin-handler.ts';
import { createConsoleHandler } from './admin/create-console-handler.ts';
import type { AdminParts } from './admin/operation.ts';
import { createOperations } from './admin/operations.ts';
import type { Identity } from './admin/roles.ts';
import { quotaNameOf } from './catalog/account.ts';
import { calibrate } from './catalog/calibrate.ts';
import { countingOf } from './catalog/estimate-tokens.ts';
import { presetOf } from './catalog/preset-age.ts';
import { createCheckModels } from './catalog/scope.ts';
import { createHistoryJob, type HistoryJob } from './history/history-job.ts';
import { type Delivered, pathOf } from './http/read-event.ts';
import { createKeyLifecycle } from './keys/lifecycle.ts';
import { newIdOf } from './keys/store-key.ts';
import { stateOf } from './routing/shares/fair-queue.ts';
import { queueIn } from './routing/shares/queue-text.ts';
import { limitsOf } from './routing/shares/quota.ts';

/** The state of each quota that targets declare, from its item. @throws StoreUnavailable */
const createReadQuotas =
  ({ models, openShares, clock }: Pick<AdminParts, 'models' | 'openShares' | 'clock'>) =>
  async () => {
    const targets = models.flatMap((model) => model.targets);
    const declared = new Map(
      targets.flatMap((one) => (one.quota ? [[quotaNameOf(one), one.quota] as const] : [])),
    );
    if (!openShares || declared.size === 0) return [];
    const store = openShares();
    return Promise.all(
      [...declared].map(async ([quota, members]) => {
        const queue = queueIn((await store.readQueue(quota))?.text);
        const limits = members.learned ? (queue?.limits ?? {}) : limitsOf(members);
        return { quota, limits, ...stateOf(queue, { limits }, clock.now()) };
      }),
    );
  };

type Parts = AdminParts & {
  /** Who makes a request, and in which roles; undefined rejects it with 403. */
  identify: (event: Delivered) => Identity | undefined;
  /** Serves the console at `/dashboard`. @default no console */
  console?: ConsoleParts | undefined;
};

export type Admin = {
  handler: AdminHandler;
  /** Brings the history up to date; the schedule of the stack runs it, and the local server. */
  history: HistoryJob;
};

/** Composition root of the admin API on Lambda, in the local server and in tests. */
export const createAdmin = (parts: Parts): Admin => {
  const history = createHistoryJob(parts);
  const lifecycle = createKeyLifecycle(parts);
  const checkModels = createCheckModels(parts.models);
  const routes = createOperations({
    ...parts,
    reconcileProject: history.reconcile,
    lifecycle,
    checkModels,
    presetOf,
    readQuotas: createReadQuotas(parts),
    calibrate: (receipts, target) => calibrate(receipts, countingOf(target)),
    admitKey: createAdmitKey(parts),
    newKeyId: () => newIdOf('key', parts.randomBytes),
  });
  const audit = createAudit(parts);
  const serve = (prefix: string, unidentified: string) =>
    createAdminHandler({ ...parts, prefix, unidentified, routes, audit });
  const serveAdmin = serve('/admin', 'Operators sign their requests with AWS credentials.');
  const { console } = parts;
  if (!console) return { handler: serveAdmin, history };
  const serveCalls = serve(CONSOLE_API, 'This page may not call any more. Reload it.');
  const serveFiles = createConsoleHandler({ ...parts, console });
  const handlerOf = (path: string): AdminHandler => {
    if (isConsoleFile(path)) return serveFiles;
    return path.startsWith(`${CONSOLE_API}/`) ? serveCalls : serveAdmin;
  };
  return { handler: (event, context) => handlerOf(pathOf(event))(event, context), history };
};
