import type { KeyLifecycle } from '../keys/lifecycle.ts';
import { holdAt } from '../metering/budgets.ts';
import type { Action } from '../stores/audit-store.ts';
import type { Budget, BudgetPeriod, BudgetState, BudgetStore } from '../stores/budget-store.ts';
import type { KeyRecord, KeyStore } from '../stores/key-store.ts';
import type { ProjectStore } from '../stores/project-store.ts';
import type { Clock } from '../support/clock.ts';
import { formatInstant } from '../support/clock.ts';
import { invalidRequest, notFound } from '../support/errors.ts';
import { dollarsOf } from '../support/public-usage.ts';
import { requireKey } from './key-changes.ts';
import type { Operation } from './operation.ts';
import { requireProject } from './projects.ts';

const NANOS = 1e9;

type Parts = {
  budgets: BudgetStore;
  keys: Pick<KeyStore, 'readKeys'>;
  lifecycle: Pick<KeyLifecycle, 'find' | 'change'>;
  projects: Pick<ProjectStore, 'findProject'>;
  clock: Clock;
};

/** Whose budget it is, and the keys whose requests are under it. */
type Owner = {
  scope: 'key' | 'project';
  id: string;
  name: string;
  keys: () => AsyncIterable<KeyRecord>;
};

const publicBudget = (budget: Budget) => ({
  scope: budget.scope,
  id: budget.name,
  max_usd: dollarsOf(budget.max),
  period: budget.period,
  ...(budget.isPaused && { paused: true }),
  set_by: budget.setBy,
  set_at: formatInstant(budget.setAt),
});

const publicState = ({ spent, leased }: BudgetState, max: number) => ({
  spent_usd: dollarsOf(spent),
  leased_usd: dollarsOf(leased),
  remaining_usd: dollarsOf(Math.max(0, max - spent - leased)),
});

/** The budgets of a key after one was set, or removed for undefined. */
const budgetsAfter = (
  { budgets = [] }: KeyRecord,
  scope: string,
  period: BudgetPeriod | undefined,
) => {
  const others = budgets.filter((text) => !text.startsWith(`${scope}/`));
  const all = period === undefined ? others : [...others, `${scope}/${period}`];
  return all.length > 0 ? all : null;
};

export const budgetHandlers = ({ budgets, keys, lifecycle, projects, clock }: Parts) => {
  const ownerOf = async ({ project = '', key }: Record<string, string>): Promise<Owner> => {
    if (key === undefined) {
      await requireProject(projects, project);
      return { scope: 'project', id: project, name: project, keys: () => keys.readKeys(project) };
    }
    const record = await requireKey(lifecycle, { projectId: project, keyId: key });
    // A rotated key and its successors share the counters, and so the budget.
    const family = async function* () {
      for await (const other of keys.readKeys(project)) {
        if (other.meterId === record.meterId) yield other;
      }
    };
    return { scope: 'key', id: record.meterId, name: key, keys: family };
  };

  /** Keys learn within 15 seconds that they have a budget; what it allows applies at once. */
  const tellKeys = async ({ scope, keys: owned }: Owner, period: BudgetPeriod | undefined) => {
    for await (const record of owned()) {
      if (record.status === 'revoked' || record.status === 'unreadable') continue;
      const wanted = budgetsAfter(record, scope, period);
      if (JSON.stringify(wanted ?? undefined) === JSON.stringify(record.budgets)) continue;
      await lifecycle.change(record, { budgets: wanted });
    }
  };

  const require = async (owner: Owner): Promise<Budget> => {
    const found = await budgets.findBudget(owner.scope, owner.id);
    if (found) return found;
    throw notFound(`There is no budget of ${owner.scope} '${owner.name}'.`);
  };

  const withState = async (budget: Budget) => {
    const { scope, id, period, max } = budget;
    const state = await budgets.readBudget(holdAt({ scope, id, period }, clock.now()));
    return { ...publicBudget(budget), ...(state && publicState(state, max)) };
  };

  const changeOf = (
    action: Action,
    { project = '', key }: Record<string, string>,
    fields: object,
  ) => ({
    action,
    project,
    ...(key !== undefined && { key }),
    ...fields,
  });

  const set: Operation<'budgets.set'> = async ({ parameters, input, identity }) => {
    const owner = await ownerOf(parameters);
    const { scope, id, name } = owner;
    const before = await budgets.findBudget(scope, id);
    const max = input.max_usd === undefined ? before?.max : Math.round(input.max_usd * NANOS);
    const period = input.period ?? before?.period;
    if (max === undefined || period === undefined) {
      throw invalidRequest('A new budget needs max_usd and period.', { param: 'max_usd' });
    }
    const isPaused = input.paused ?? before?.isPaused ?? false;
    const setAt = clock.now();
    const budget: Budget = { scope, id, name, max, period, isPaused, setBy: identity.name, setAt };
    await budgets.setBudget(budget, holdAt(budget, setAt));
    await tellKeys(owner, period);
    const after = publicBudget(budget);
    const fields = { ...(before && { before: publicBudget(before) }), after };
    return { status: 200, body: after, changes: [changeOf('budgets.set', parameters, fields)] };
  };

  const remove: Operation<'budgets.delete'> = async ({ parameters }) => {
    const owner = await ownerOf(parameters);
    const before = publicBudget(await require(owner));
    await tellKeys(owner, undefined);
    await budgets.deleteBudget(owner.scope, owner.id);
    const body = { ...before, deleted: true };
    return { status: 200, body, changes: [changeOf('budgets.delete', parameters, { before })] };
  };

  const show: Operation<'budgets.show'> = async ({ parameters }) => {
    const body = await withState(await require(await ownerOf(parameters)));
    return { status: 200, body };
  };

  const list: Operation<'budgets.list'> = async () => {
    const data = await Promise.all((await budgets.listBudgets()).map(withState));
    return { status: 200, body: { data } };
  };

  return {
    'budgets.list': list,
    'budgets.show': show,
    'budgets.set': set,
    'budgets.delete': remove,
    'key-budgets.show': show,
    'key-budgets.set': set,
    'key-budgets.delete': remove,
  };
};
