import type { Need } from '../operations.ts';
import { invalidRequest, notFound } from '../support/errors.ts';

/**
 * `operator`: everything; `viewer`: sees everything and changes nothing; `project:ID`: sees that project and
 * manages its keys.
 */
export type Role = 'operator' | 'viewer' | `project:${string}`;

const MEMBER = 'project:';

/** The project that a role is for. */
export const projectOf = (role: Role): string | undefined =>
  role.startsWith(MEMBER) ? role.slice(MEMBER.length) : undefined;

export const isRole = (name: string): name is Role =>
  name === 'operator' || name === 'viewer' || name.startsWith(MEMBER);

/** Who makes a request, and in which roles. Without a role every operation is denied. */
export type Identity = { name: string; roles: readonly Role[] };

export const seesAll = ({ roles }: Identity): boolean =>
  roles.includes('operator') || roles.includes('viewer');

export const maySee = (identity: Identity, projectId: string): boolean =>
  seesAll(identity) || identity.roles.includes(`project:${projectId}`);

const isOperator = ({ roles }: Identity): boolean => roles.includes('operator');

const mayManage = (identity: Identity, projectId = ''): boolean =>
  isOperator(identity) || identity.roles.includes(`project:${projectId}`);

export const projectNotFound = (id: string) => notFound(`Project '${id}' not found.`);

/** What the state of things does not allow now. */
export const conflict = (message: string) => invalidRequest(message, { status: 409 });

export const changedMeanwhile = (subject: string) =>
  conflict(`${subject} was changed concurrently. List it, then repeat the change.`);

const denied = (message: string) => invalidRequest(message, { status: 403 });

/**
 * The one place that checks roles. A project that the identity may not see is reported as one that does not
 * exist. @throws ApiError 403 or 404
 */
export const authorize = (identity: Identity, need: Need, projectId?: string): void => {
  if (identity.roles.length === 0) {
    throw denied('No project is yours yet. Ask an operator to add you.');
  }
  if (projectId !== undefined && !maySee(identity, projectId)) throw projectNotFound(projectId);
  if (need === 'operate' && !isOperator(identity))
    throw denied('Only operators may do this. Ask one of them.');
  if (need === 'see-all' && !seesAll(identity)) {
    throw denied('Only operators and viewers may see this. Ask an operator.');
  }
  if (need === 'manage-project' && !mayManage(identity, projectId)) {
    throw denied('Only operators and members of the project may do this. Ask an operator.');
  }
};
