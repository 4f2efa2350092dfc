import { isDeepStrictEqual } from 'node:util';
import { holdAt } from '../metering/budgets.ts';
import { periodOf } from '../metering/limits.ts';
import type { Budget, BudgetState, BudgetStore } from '../stores/budget-store.ts';
import type { KeyRecord, KeyStore } from '../stores/key-store.ts';
import { formatInstant } from '../support/clock.ts';
import { invalidRequest, notFound } from '../support/errors.ts';
import { dollarsOf } from '../support/public-usage.ts';
import {
  type BudgetScope,
  budgetsOfKey,
  createOwnerOf,
  DEFAULTS,
  type Owner,
  type OwnerParts,
} from './budget-owners.ts';
import type { Operation } from './operation.ts';

const NANOS = 1e9;
/** One item lists them. */
const MAX_BUDGETS = 1_000;
/** Keys whose budgets are written at the same time. */
const AT_ONCE = 25;

const publicBudget = (budget: Budget) => ({
  scope: budget.scope as BudgetScope,
  id: budget.name,
  ...(budget.project !== undefined && { project: budget.project }),
  max_usd: dollarsOf(budget.max),
  period: budget.period,
  ...(budget.isPaused && { paused: true }),
  set_by: budget.setBy,
  set_at: formatInstant(budget.setAt),
});

/**
 * In the first hour of a day, and the same share of others, the pace is that of the whole share: a request in the minute after
 * midnight would forecast a thousand times its cost.
 */
const SHARES = 24;

/** What is spent at the period's end, at the pace that it had since the period began, or the budget. */
const forecast = ({ period, since = 0 }: Budget, { spent }: BudgetState, now: number) => {
  if (period === 'total') return {};
  const { startsAt, resetsAt } = periodOf(period, now);
  const elapsed = Math.max(now - Math.max(startsAt, since), (resetsAt - startsAt) / SHARES);
  const rest = Math.max(0, resetsAt - now);
  return {
    forecast_usd: Number(dollarsOf(Math.round(spent * (1 + rest / elapsed))).toFixed(2)),
    resets_at: formatInstant(resetsAt),
  };
};

const publicState = (budget: Budget, state: BudgetState, now: number) => ({
  spent_usd: dollarsOf(state.spent),
  leased_usd: dollarsOf(state.leased),
  remaining_usd: dollarsOf(Math.max(0, budget.max - state.spent - state.leased)),
  ...forecast(budget, state, now),
});

type BudgetParts = OwnerParts & {
  keys: Pick<KeyStore, 'findKey'>;
  budgets: BudgetStore;
};

export const budgetHandlers = (parts: BudgetParts) => {
  const { keys, budgets, lifecycle, clock } = parts;
  const ownerOf = createOwnerOf(parts);

  const tellKey = async (hash: string, all: readonly Budget[]) => {
    const record = await keys.findKey(hash);
    if (!record || record.status === 'revoked' || record.status === 'unreadable') return;
    const wanted = budgetsOfKey(all, record);
    if (isDeepStrictEqual(wanted, record.budgets)) return;
    await lifecycle.change(record, { budgets: wanted ?? null });
  };

  /** Keys learn within 15 seconds that they have a budget; what it allows applies at once. */
  const tellKeys = async ({ keys: owned }: Owner, list: () => Promise<Budget[]>) => {
    for (let all = await list(); ; ) {
      const tellThem = (them: KeyRecord[]) =>
        Promise.all(them.map(({ hash }) => tellKey(hash, all)));
      let next: KeyRecord[] = [];
      for await (const record of owned()) {
        next.push(record);
        if (next.length < AT_ONCE) continue;
        await tellThem(next);
        next = [];
      }
      await tellThem(next);
      const now = await list();
      if (isDeepStrictEqual(now, all)) return;
      // Another budget was set or deleted since: what the keys were told of it may be older.
      all = now;
    }
  };

  const require = async ({ scope, id, name }: Owner): Promise<Budget> => {
    const found = await budgets.findBudget(scope, id);
    if (found) return found;
    throw notFound(`There is no budget of ${scope} '${name}'.`);
  };

  const withState = async (budget: Budget) => {
    const now = clock.now();
    const state = Object.values(DEFAULTS).some((scope) => scope === budget.scope)
      ? undefined
      : await budgets.readBudget(holdAt(budget, now));
    return { ...publicBudget(budget), ...(state && publicState(budget, state, now)) };
  };

  /** A user's or session's own, or that of all. */
  const effective = async (owner: Owner): Promise<{ budget: Budget; isDefault: boolean }> => {
    const { scope, id, name, project = '' } = owner;
    const fallback = DEFAULTS[scope as BudgetScope];
    const own = await budgets.findBudget(scope, id);
    const all = own || !fallback ? undefined : await budgets.findBudget(fallback, project);
    if (!all) return { budget: own ?? (await require(owner)), isDefault: false };
    return { budget: { ...all, scope, id, name, project }, isDefault: true };
  };

  const before = async (owner: Pick<Owner, 'scope' | 'id'>): Promise<Budget | undefined> => {
    const all = await budgets.listBudgets();
    const found = all.find(({ scope, id }) => scope === owner.scope && id === owner.id);
    if (found || all.length < MAX_BUDGETS) return found;
    throw invalidRequest(`There are ${MAX_BUDGETS} budgets. Delete one, or set one for all users.`);
  };

  const set = (scope: BudgetScope) =>
    (async ({ parameters, input, identity }) => {
      const { keys: owned, ...owner } = await ownerOf(scope, parameters);
      const old = await before(owner);
      const max = input.max_usd === undefined ? old?.max : Math.round(input.max_usd * NANOS);
      const period = input.period ?? old?.period;
      if (max === undefined || period === undefined) {
        throw invalidRequest('A new budget needs max_usd and period.', { param: 'max_usd' });
      }
      const setAt = clock.now();
      const since = old?.period === period ? (old.since ?? old.setAt) : setAt;
      const isPaused = input.paused ?? old?.isPaused ?? false;
      const budget = { ...owner, max, period, isPaused, setBy: identity.name, setAt, since };
      await budgets.setBudget(budget, holdAt(budget, setAt));
      await tellKeys({ keys: owned, ...owner }, budgets.listBudgets);
      const after = publicBudget(budget);
      const changes = [{ before: old && publicBudget(old), after }];
      return { status: 200, body: after, changes };
    }) satisfies Operation<'budgets.set'>;

  const remove = (scope: BudgetScope) =>
    (async ({ parameters }) => {
      const owner = await ownerOf(scope, parameters);
      const old = publicBudget(await require(owner));
      await tellKeys(owner, async () => {
        const all = await budgets.listBudgets();
        return all.filter((one) => one.scope !== scope || one.id !== owner.id);
      });
      await budgets.deleteBudget(owner.scope, owner.id);
      return { status: 200, body: { ...old, deleted: true }, changes: [{ before: old }] };
    }) satisfies Operation<'budgets.delete'>;

  const show = (scope: BudgetScope) =>
    (async ({ parameters }) => {
      const { budget, isDefault } = await effective(await ownerOf(scope, parameters));
      return {
        status: 200,
        body: { ...(await withState(budget)), ...(isDefault && { default: true }) },
      };
    }) satisfies Operation<'budgets.show'>;

  const list = (async () => {
    const data = await Promise.all((await budgets.listBudgets()).map(withState));
    return { status: 200, body: { data } };
  }) satisfies Operation<'budgets.list'>;

  const of = <Prefix extends string>(prefix: Prefix, scope: BudgetScope) =>
    ({
      [`${prefix}budgets.show`]: show(scope),
      [`${prefix}budgets.set`]: set(scope),
      [`${prefix}budgets.delete`]: remove(scope),
    }) as Record<`${Prefix}budgets.show`, ReturnType<typeof show>> &
      Record<`${Prefix}budgets.set`, ReturnType<typeof set>> &
      Record<`${Prefix}budgets.delete`, ReturnType<typeof remove>>;
  return {
    'budgets.list': list,
    ...of('organisation-', 'organisation'),
    ...of('', 'project'),
    ...of('key-', 'key'),
    ...of('users-', 'users'),
    ...of('user-', 'user'),
    ...of('sessions-', 'sessions'),
    ...of('session-', 'session'),
  };
};
