import * as z from 'zod';
import { usageError } from './cli-error.ts';
import type { Command, CommandInput } from './command.ts';
import type { Connection } from './connection.ts';
import { callUserPool, type UserPoolApi, UserPoolError } from './user-pool.ts';

const ROLE = /^(?:operator|viewer|project:[A-Za-z0-9][A-Za-z0-9._-]{0,63})$/;
const EMAIL = /^[^\s@]+@[^\s@]+$/;

const Nothing = z.object({});
const Users = z.object({
  Users: z.array(
    z.object({
      Username: z.string(),
      UserStatus: z.string().default(''),
      Attributes: z
        .array(z.object({ Name: z.string(), Value: z.string().default('') }))
        .default([]),
    }),
  ),
  PaginationToken: z.string().optional(),
});
const Groups = z.object({ Groups: z.array(z.object({ GroupName: z.string() })) });

/** @throws CliError 2 */
const emailIn = ({ operands: [email = ''] }: CommandInput): string => {
  if (EMAIL.test(email)) return email;
  throw usageError(`EMAIL must be an e-mail address (got '${email}').`);
};

/** @throws CliError 2 */
const roleIn = ({ options: { role = 'operator' } }: CommandInput): string => {
  if (ROLE.test(role)) return role;
  throw usageError(`--role must be operator, viewer or project:ID (got '${role}').`);
};

/** @throws CliError 2 without --stack: the loopback address has no users */
const poolOf = async ({ userPool }: Connection): Promise<UserPoolApi> => {
  if (userPool) return userPool();
  throw usageError('Users belong to a deployed stack: pass --stack NAME.');
};

/** Runs a call whose work another one may have done before. */
const unless = async (type: string, call: Promise<unknown>): Promise<boolean> => {
  try {
    await call;
    return true;
  } catch (error) {
    if (error instanceof UserPoolError && error.type === type) return false;
    throw error;
  }
};

const invite = async (pool: UserPoolApi, email: string, role: string) => {
  const attributes = [
    { Name: 'email', Value: email },
    { Name: 'email_verified', Value: 'true' },
  ];
  const isNew = await unless(
    'UsernameExistsException',
    callUserPool(
      pool,
      'AdminCreateUser',
      { Username: email, UserAttributes: attributes, DesiredDeliveryMediums: ['EMAIL'] },
      Nothing,
    ),
  );
  // The stack has the groups of operators and viewers; that of a project comes with its first member.
  const group = { GroupName: role };
  await unless('GroupExistsException', callUserPool(pool, 'CreateGroup', group, Nothing));
  await callUserPool(pool, 'AdminAddUserToGroup', { Username: email, ...group }, Nothing);
  return { email, role, outcome: isNew ? 'invited by e-mail' : 'role added' };
};

const rolesOf = async (pool: UserPoolApi, user: string): Promise<string> => {
  const { Groups: groups } = await callUserPool(
    pool,
    'AdminListGroupsForUser',
    { Username: user },
    Groups,
  );
  return groups.map(({ GroupName }) => GroupName).join(', ');
};

const list = async (pool: UserPoolApi) => {
  const data: Record<string, string>[] = [];
  let token: string | undefined;
  do {
    const page = await callUserPool(
      pool,
      'ListUsers',
      { Limit: 60, ...(token !== undefined && { PaginationToken: token }) },
      Users,
    );
    for (const { Username, UserStatus, Attributes } of page.Users) {
      const email = Attributes.find(({ Name }) => Name === 'email')?.Value ?? Username;
      data.push({ email, roles: await rolesOf(pool, Username), status: UserStatus.toLowerCase() });
    }
    token = page.PaginationToken;
  } while (token !== undefined);
  return { data };
};

/** Users of a stack's console; calls Cognito with the caller's AWS credentials. */
export const OPERATOR_COMMANDS: Record<string, Command> = {
  'operators invite': {
    operands: ['EMAIL'],
    options: ['role'],
    perform: async (input, connection) => {
      const [email, role] = [emailIn(input), roleIn(input)];
      return invite(await poolOf(connection), email, role);
    },
    note: () => 'The temporary password is valid for 3 days.',
  },
  'operators list': {
    operands: [],
    options: [],
    perform: async (_, connection) => list(await poolOf(connection)),
    lists: { data: ['email', 'roles', 'status'] },
  },
  'operators remove': {
    operands: ['EMAIL'],
    options: ['role'],
    question: (input) =>
      input.options.role === undefined
        ? `Remove ${emailIn(input)} from the console?`
        : `Remove the role ${roleIn(input)} of ${emailIn(input)}?`,
    perform: async (input, connection) => {
      const [email, { role }] = [emailIn(input), input.options];
      const pool = await poolOf(connection);
      const user = { Username: email };
      if (role === undefined) await callUserPool(pool, 'AdminDeleteUser', user, Nothing);
      else {
        const fields = { ...user, GroupName: roleIn(input) };
        await callUserPool(pool, 'AdminRemoveUserFromGroup', fields, Nothing);
      }
      return { email, outcome: role === undefined ? 'removed' : `role ${role} removed` };
    },
    note: () => 'A page that is open may call for up to 15 minutes.',
  },
};
