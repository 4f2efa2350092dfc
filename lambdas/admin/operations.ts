import { createApplySeed } from './apply-seed.ts';
import { createListAudit } from './audit.ts';
import { BudgetChange, budgetHandlers } from './budgets.ts';
import { createCalibration } from './calibration.ts';
import { deleteHandlers } from './delete.ts';
import { doctorHandlers, TargetTest } from './doctor.ts';
import { createExport } from './exports.ts';
import { historyHandlers } from './history.ts';
import {
  FindKey,
  KeyMove,
  KeySettings,
  MemberChange,
  NewKeyInput,
  NewMember,
  NewPlan,
  NewProject,
  NoFields,
  PlanChange,
  ProjectChange,
  Rotation,
  Seed,
} from './input.ts';
import { keyChangeHandlers } from './key-changes.ts';
import { keyHandlers } from './keys.ts';
import { memberHandlers } from './members.ts';
import { type AdminRoute, change, read, run } from './operation.ts';
import { planHandlers } from './plans.ts';
import { projectHandlers } from './projects.ts';
import { usageHandlers } from './quota-usage.ts';
import { requestHandlers } from './requests.ts';
import { createListTargets } from './targets.ts';

/** What the operations need. */
export type OperationParts = Parameters<typeof createApplySeed>[0] &
  Parameters<typeof createListAudit>[0] &
  Parameters<typeof budgetHandlers>[0] &
  Parameters<typeof createCalibration>[0] &
  Parameters<typeof createListTargets>[0] &
  Parameters<typeof deleteHandlers>[0] &
  Parameters<typeof createExport>[0] &
  Parameters<typeof doctorHandlers>[0] &
  Parameters<typeof historyHandlers>[0] &
  Parameters<typeof keyHandlers>[0] &
  Parameters<typeof keyChangeHandlers>[0] &
  Parameters<typeof memberHandlers>[0] &
  Parameters<typeof planHandlers>[0] &
  Parameters<typeof projectHandlers>[0] &
  Parameters<typeof requestHandlers>[0] &
  Parameters<typeof usageHandlers>[0];

/**
 * Every operation: what it requires, its path below the prefix, and for a change its name in the audit and the
 * shape of its body.
 */
export const createOperations = (parts: OperationParts): AdminRoute[] => {
  const { deleteProject, deletePlan } = deleteHandlers(parts);
  const projects = projectHandlers(parts);
  const plans = planHandlers(parts);
  const keys = { ...keyHandlers(parts), ...keyChangeHandlers(parts) };
  const budgets = budgetHandlers(parts);
  const members = memberHandlers(parts);
  const usage = usageHandlers(parts);
  const history = historyHandlers(parts);
  const requests = requestHandlers(parts);
  const doctor = doctorHandlers(parts);
  const project = '/projects/{project}';
  const key = `${project}/keys/{key}`;
  const member = '/members/{member}';
  return [
    read('see-own', '/projects', projects.list),
    change('operate', '/projects', 'projects.create', NewProject, projects.create),
    change('operate', project, 'projects.set', ProjectChange, projects.set),
    change('operate', `${project}/delete`, 'projects.delete', NoFields, deleteProject),

    read('see-own', '/plans', plans.list),
    change('operate', '/plans', 'plans.create', NewPlan, plans.create),
    change('operate', '/plans/{plan}', 'plans.set', PlanChange, plans.set),
    change('operate', '/plans/{plan}/delete', 'plans.delete', NoFields, deletePlan),

    read('see-project', `${project}/keys`, keys.list),
    change('manage-project', `${project}/keys`, 'keys.create', NewKeyInput, keys.create),
    read('see-project', key, keys.show),
    change('manage-project', key, 'keys.set', KeySettings, keys.set),
    change('operate', `${key}/move`, 'keys.move', KeyMove, keys.move),
    change('manage-project', `${key}/pause`, 'keys.pause', NoFields, keys.pause),
    change('manage-project', `${key}/resume`, 'keys.resume', NoFields, keys.resume),
    change('manage-project', `${key}/rotate`, 'keys.rotate', Rotation, keys.rotate),
    change('manage-project', `${key}/revoke`, 'keys.revoke', NoFields, keys.revoke),

    run('see-own', '/keys/find', FindKey, keys.find),

    read('see-all', '/budgets', budgets.list),
    read('see-project', `${project}/budget`, budgets.show),
    change('operate', `${project}/budget`, 'budgets.set', BudgetChange, budgets.set),
    change('operate', `${project}/budget/delete`, 'budgets.delete', NoFields, budgets.remove),
    read('see-project', `${key}/budget`, budgets.show),
    change('manage-project', `${key}/budget`, 'budgets.set', BudgetChange, budgets.set),
    change('manage-project', `${key}/budget/delete`, 'budgets.delete', NoFields, budgets.remove),

    read('see-all', '/members', members.list),
    change('operate', '/members', 'members.invite', NewMember, members.invite),
    change('operate', member, 'members.set', MemberChange, members.set),
    change('operate', `${member}/remove`, 'members.remove', NoFields, members.remove),

    read('see-project', `${project}/usage`, usage.list),
    read('see-project', `${project}/statements/{month}`, history.statement),
    read('see-own', '/usage', history.usage),
    run('operate', '/history/reconcile', NoFields, history.reconcile),

    read('see-own', '/exports/{format}', createExport(parts)),

    read('see-own', '/requests', requests.list),
    read('see-own', '/requests/{request}', requests.find),
    read('see-own', '/audit', createListAudit(parts)),

    read('operate', '/checks', doctor.check),
    read('see-all', '/targets', createListTargets(parts)),
    read('see-all', '/calibration', createCalibration(parts)),
    run('operate', '/targets/test', TargetTest, doctor.test),

    change('operate', '/apply', 'apply', Seed, createApplySeed(parts)),
  ];
};
