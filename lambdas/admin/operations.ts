import type { OperationName } from '../operations.ts';
import { createApplySeed } from './apply-seed.ts';
import { createListAudit } from './audit.ts';
import { budgetHandlers } from './budgets.ts';
import { createCalibration } from './calibration.ts';
import { deleteHandlers } from './delete.ts';
import { doctorHandlers } from './doctor.ts';
import { createExport } from './exports.ts';
import { historyHandlers } from './history.ts';
import { createListIncidents } from './incidents.ts';
import { keyChangeHandlers } from './key-changes.ts';
import { keyHandlers } from './keys.ts';
import { createMeasureTargets } from './measured.ts';
import { memberHandlers } from './members.ts';
import { createMetrics } from './metrics.ts';
import { type AdminRoute, type OperationParts, routesOf } from './operation.ts';
import { createOverview } from './overview.ts';
import { planHandlers } from './plans.ts';
import { projectHandlers } from './projects.ts';
import { usageHandlers } from './quota-usage.ts';
import { requestHandlers } from './requests.ts';
import { createListTargets } from './targets.ts';
import { webhookHandlers } from './webhooks.ts';

/** Each returns operations by their names in `OPERATIONS`. */
const FACTORIES = [
  projectHandlers,
  planHandlers,
  keyHandlers,
  keyChangeHandlers,
  deleteHandlers,
  webhookHandlers,
  budgetHandlers,
  memberHandlers,
  usageHandlers,
  historyHandlers,
  createExport,
  requestHandlers,
  createOverview,
  createListIncidents,
  createMeasureTargets,
  createListAudit,
  doctorHandlers,
  createListTargets,
  createMetrics,
  createCalibration,
  createApplySeed,
] as const;
type All<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  one: infer Each,
) => void
  ? Each
  : never;

/** The function of each row of `OPERATIONS`. */
type Handlers = All<ReturnType<(typeof FACTORIES)[number]>>;

type BodyIn<Reply> = Reply extends { body: infer Body } ? Body : never;

/** CONTRACT with console/: what an operation replies. */
export type ReplyOf<Name extends OperationName> = BodyIn<Awaited<ReturnType<Handlers[Name]>>>;

/** Does not compile without a function for each row of `OPERATIONS`. */
export const createOperations = (parts: OperationParts): AdminRoute[] =>
  routesOf(Object.assign({}, ...FACTORIES.map((create) => create(parts))) as Handlers);
