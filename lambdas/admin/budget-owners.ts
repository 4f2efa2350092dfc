import type { KeyLifecycle } from '../keys/lifecycle.ts';
import { ORGANISATION } from '../metering/budgets.ts';
import { type Budget, limitOf } from '../stores/budget-store.ts';
import type { KeyRecord, KeyStore } from '../stores/key-store.ts';
import type { ProjectStore } from '../stores/project-store.ts';
import { type Clock, pause } from '../support/clock.ts';
import { invalidRequest } from '../support/errors.ts';
import { recentlyAdmitted } from './admit-key.ts';
import { requireKey } from './key-changes.ts';
import { requireProject } from './projects.ts';

export type OwnerParts = {
  keys: Pick<KeyStore, 'readKeys'>;
  lifecycle: Pick<KeyLifecycle, 'find' | 'change'>;
  projects: Pick<ProjectStore, 'findProject' | 'listProjects'>;
  clock: Clock;
};

/** After its admission a key is listed, or was never created. */
const LISTED_MS = 10_000;
const LOOK_AGAIN_MS = 250;

/** What a budget may be of; `users` and `sessions` is what each of a project has without a separate one. */
export type BudgetScope =
  | 'organisation'
  | 'project'
  | 'key'
  | 'users'
  | 'user'
  | 'sessions'
  | 'session';

export const DEFAULTS: Partial<Record<BudgetScope, BudgetScope>> = {
  user: 'users',
  session: 'sessions',
};

/** As records have users and sessions. */
const NAME = /^[!-~]{1,128}$/;

/** Whose budget it is, and the keys whose requests are under it. */
export type Owner = Pick<Budget, 'scope' | 'id' | 'name' | 'project'> & {
  keys: () => AsyncIterable<KeyRecord>;
};

/** The budgets of a key's requests, as `leaseOf` reads them. */
export const budgetsOfKey = (
  all: readonly Budget[],
  { projectId, meterId }: Pick<KeyRecord, 'projectId'> & { meterId?: string },
): string[] | undefined => {
  const ids: Record<string, string | undefined> = {
    organisation: ORGANISATION,
    project: projectId,
    key: meterId,
  };
  const own = all.filter(({ scope, id }) => ids[scope] === id);
  const texts = own.map(({ scope, period }) => `${scope}/${period}`);
  for (const scope of ['user', 'session'] as const) {
    const fallback = all.find((one) => one.scope === DEFAULTS[scope] && one.id === projectId);
    const hasOwn = all.some((one) => one.scope === scope && one.project === projectId);
    if (fallback) texts.push(`${scope}/${fallback.period}/${limitOf(fallback).max}`);
    else if (hasOwn) texts.push(scope);
  }
  return texts.length > 0 ? texts : undefined;
};

/** Finds the owner that a path names. @throws ApiError 404 or 400 */
export const createOwnerOf = ({ keys, lifecycle, projects, clock }: OwnerParts) => {
  const untilListed = async (projectId: string, keyId: string, admittedAt: number) => {
    for (;;) {
      const found = await lifecycle.find({ projectId, keyId });
      if (found || clock.now() >= admittedAt + LISTED_MS) return found;
      await pause(clock, LOOK_AGAIN_MS);
    }
  };
  const admittedOf = async (projectId: string) => {
    const project = await projects.findProject(projectId);
    return project ? recentlyAdmitted(project, clock.now()) : [];
  };
  /** Those that lists do not have yet are first, and may be repeated: their creation may have read the budgets before. */
  const keysOf = async function* (projectId: string) {
    for (const { keyId, successorId = keyId, admittedAt } of await admittedOf(projectId)) {
      const record = await untilListed(projectId, successorId, admittedAt);
      if (record) yield record;
    }
    yield* keys.readKeys(projectId);
  };
  const allKeys = async function* () {
    for (const { id } of await projects.listProjects()) yield* keysOf(id);
  };
  // A rotated key and its successors share the counters, and so the budget.
  const family = async function* ({ projectId, meterId }: KeyRecord) {
    for await (const other of keysOf(projectId)) if (other.meterId === meterId) yield other;
  };
  return async (scope: BudgetScope, parameters: Record<string, string>): Promise<Owner> => {
    const { project = '', key = '', user, session } = parameters;
    if (scope === 'organisation') {
      return { scope, id: ORGANISATION, name: ORGANISATION, keys: allKeys };
    }
    if (scope === 'key') {
      const admitted = (await admittedOf(project)).find(
        ({ keyId, successorId = keyId }) => successorId === key,
      );
      if (admitted) await untilListed(project, key, admitted.admittedAt);
      const record = await requireKey(lifecycle, { projectId: project, keyId: key });
      return { scope, id: record.meterId, name: key, project, keys: () => family(record) };
    }
    await requireProject(projects, project);
    const owner = { scope, keys: () => keysOf(project) };
    const name = user ?? session;
    if (name === undefined) return { ...owner, id: project, name: project };
    if (!NAME.test(name)) {
      throw invalidRequest(`${scope}: must be up to 128 printable characters.`, { param: scope });
    }
    return { ...owner, id: `${project}/${name}`, name, project };
  };
};
