import type { PoolUser } from '../aws/user-pool.ts';
import { formatInstant } from '../support/clock.ts';
import { ApiError, apiError, invalidRequest, notFound } from '../support/errors.ts';
import type { Members, Operation, OperationParts } from './operation.ts';
import { conflict, type Identity, isRole, projectOf, type Role } from './roles.ts';

const publicMember = ({ email, status, invitedAt }: PoolUser, groups: string[] = []) => ({
  email,
  roles: groups.filter(isRole).toSorted(),
  status,
  invited_at: formatInstant(invitedAt),
});

/** The failure keeps AWS's name of it: a limit of e-mails a day differs from a missing permission. */
const poolFailure = (cause: unknown): ApiError => {
  const name = cause instanceof Error ? cause.name : 'Error';
  return apiError(`The user pool failed (${name}). List the members before you retry.`, {
    status: 503,
    cause,
  });
};

/** Without the role, the last operator could change nothing any more. @throws ApiError 409 */
const requireOther = ({ name }: Identity, email: string): void => {
  if (name.toLowerCase() !== email) return;
  throw conflict('Ask another operator: this would end your own role of operator.');
};

/** Addresses are compared in lower case, as the pool does. */
const emailIn = ({ member = '' }: Record<string, string>): string => member.toLowerCase();

/** Members of the console: the users of its pool, whose groups are their roles. */
export const memberHandlers = ({ members, projects }: OperationParts) => {
  /** @throws ApiError 404 without a pool, 503 if it fails */
  const withPool = async <T>(use: (pool: Members) => Promise<T>): Promise<T> => {
    if (!members) {
      throw notFound('This router has no members: its console is off, or needs no sign-in.');
    }
    try {
      return await use(members);
    } catch (error) {
      throw error instanceof ApiError ? error : poolFailure(error);
    }
  };

  /** @throws ApiError 404 */
  const rolesOf = async (pool: Members, email: string): Promise<Role[]> => {
    const groups = await pool.groupsOf(email);
    if (!groups) throw notFound(`Member '${email}' not found.`);
    return groups.filter(isRole).toSorted();
  };

  /** A role in a misspelt project would allow nothing. @throws ApiError 400 */
  const requireProjects = async (roles: readonly Role[], param: string): Promise<void> => {
    const ids = roles.flatMap((role) => projectOf(role) ?? []);
    const found = await Promise.all(ids.map((id) => projects.findProject(id)));
    const unknown = ids.filter((_, index) => !found[index] || found[index].deletedAt);
    if (unknown.length === 0) return;
    throw invalidRequest(`${param}: unknown project ${unknown.join(', ')}.`, { param });
  };

  /** A user may have taken the address of somebody else, for whom the role is meant. @throws ApiError 409 */
  const grant = async (pool: Members, email: string, roles: readonly Role[]): Promise<void> => {
    if (roles.length > 0 && !(await pool.isVerified(email))) {
      throw conflict(
        `The user of '${email}' has not verified this address. Remove that member, then invite the address again.`,
      );
    }
    for (const role of roles) await pool.addToGroup(email, role);
  };

  const list = (async ({ query: { q, project, cursor } }) =>
    withPool(async (pool) => {
      const { users, nextToken } = await (project === undefined
        ? pool.listUsers(q, cursor)
        : pool.listGroup(`project:${project}`, cursor));
      const groups = await Promise.all(users.map(({ email }) => pool.groupsOf(email)));
      const data = users.map((user, index) => publicMember(user, groups[index]));
      return { status: 200, body: { data, next_cursor: nextToken ?? null } };
    })) satisfies Operation<'members.list'>;

  /** A member that exists gets the role in addition to its others. */
  const invite = (async ({ input: { email: member, role } }) => {
    await requireProjects([role], 'role');
    return withPool(async (pool) => {
      const invitation = await pool.invite(member);
      const before = { roles: await rolesOf(pool, member) };
      await grant(pool, member, [role]);
      const after = { roles: [...new Set([...before.roles, role])].toSorted() };
      const body = { email: member, ...after, invitation };
      return { status: 201, body, changes: [{ member, before, after }] };
    });
  }) satisfies Operation<'members.invite'>;

  const set = (async ({ identity, parameters, input: { roles } }) => {
    const member = emailIn(parameters);
    if (!roles.includes('operator')) requireOther(identity, member);
    await requireProjects(roles, 'roles');
    return withPool(async (pool) => {
      const before = { roles: await rolesOf(pool, member) };
      const added = roles.filter((role) => !before.roles.includes(role));
      const removed = before.roles.filter((role) => !roles.includes(role));
      await grant(pool, member, added);
      for (const role of removed) await pool.removeFromGroup(member, role);
      const after = { roles: roles.toSorted() };
      const body = { email: member, ...after };
      return { status: 200, body, changes: [{ member, before, after }] };
    });
  }) satisfies Operation<'members.set'>;

  const remove = (async ({ identity, parameters }) => {
    const member = emailIn(parameters);
    requireOther(identity, member);
    return withPool(async (pool) => {
      const before = { roles: await rolesOf(pool, member) };
      await pool.removeUser(member);
      const body = { email: member, removed: true };
      return { status: 200, body, changes: [{ member, before }] };
    });
  }) satisfies Operation<'members.remove'>;

  return {
    'members.list': list,
    'members.invite': invite,
    'members.set': set,
    'members.remove': remove,
  };
};
