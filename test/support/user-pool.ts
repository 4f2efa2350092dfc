import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import * as z from 'zod';
import { createUserPool, type UserPool } from '../../lambdas/aws/user-pool.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { listen } from '../../local/loopback.ts';
import { verifySignature } from './verify-signature.ts';

const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const POOL = 'eu-central-1_Pool';
const CREATED_AT = Date.UTC(2026, 10, 12);

type User = { status: string; groups: Set<string>; emails: number; isUnverified?: boolean };

const Body = z.strictObject({
  UserPoolId: z.literal(POOL),
  Username: z.string().optional(),
  GroupName: z.string().optional(),
  Limit: z.number().max(60).optional(),
  Filter: z.string().optional(),
  PaginationToken: z.string().optional(),
  NextToken: z.string().optional(),
  MessageAction: z.literal('RESEND').optional(),
  DesiredDeliveryMediums: z.tuple([z.literal('EMAIL')]).optional(),
  UserAttributes: z
    .array(z.strictObject({ Name: z.enum(['email', 'email_verified']), Value: z.string() }))
    .optional(),
});
type Body = z.infer<typeof Body>;

class Rejection extends Error {
  readonly type: string;
  constructor(type: string) {
    super(`${type} of the stand-in`);
    this.type = type;
  }
}

/** Users with their groups, by the reference of Cognito's API; the names of users are not their addresses. */
const createOperations = (users: Map<string, User>, groups: Set<string>) => {
  const find = (name = ''): User => {
    const user = users.get(name.toLowerCase());
    if (user) return user;
    throw new Rejection('UserNotFoundException');
  };
  const requireGroup = (name = ''): string => {
    // A test puts users into groups without a call.
    if (groups.has(name) || [...users.values()].some((user) => user.groups.has(name))) return name;
    throw new Rejection('ResourceNotFoundException');
  };
  const page = (found: [string, User][], { Limit = 60 }: Body, token = '0') => {
    const end = Number(token) + Limit;
    const listed = found.slice(Number(token), end).map(([email, { status }]) => ({
      Username: `sub-of-${email}`,
      UserStatus: status,
      Enabled: true,
      UserCreateDate: CREATED_AT / 1_000,
      Attributes: [{ Name: 'email', Value: email }],
    }));
    return { listed, next: end < found.length ? String(end) : undefined };
  };
  const operations: Record<string, (body: Body) => object> = {
    AdminCreateUser: ({ Username = '', MessageAction, UserAttributes }) => {
      const user = users.get(Username);
      if (MessageAction === 'RESEND') {
        const invited = find(Username);
        if (invited.status === 'CONFIRMED') throw new Rejection('UnsupportedUserStateException');
        invited.emails += 1;
        return { User: {} };
      }
      if (user) throw new Rejection('UsernameExistsException');
      if (UserAttributes?.length !== 2) throw new Rejection('InvalidParameterException');
      users.set(Username, { status: 'FORCE_CHANGE_PASSWORD', groups: new Set(), emails: 1 });
      return { User: {} };
    },
    CreateGroup: ({ GroupName = '' }) => {
      if (groups.has(GroupName)) throw new Rejection('GroupExistsException');
      groups.add(GroupName);
      return { Group: {} };
    },
    AdminAddUserToGroup: ({ Username, GroupName }) => {
      find(Username).groups.add(requireGroup(GroupName));
      return {};
    },
    AdminRemoveUserFromGroup: ({ Username, GroupName }) => {
      find(Username).groups.delete(requireGroup(GroupName));
      return {};
    },
    AdminGetUser: ({ Username }) => ({
      UserAttributes: [
        { Name: 'email', Value: Username },
        { Name: 'email_verified', Value: String(!find(Username).isUnverified) },
      ],
    }),
    AdminDeleteUser: ({ Username = '' }) => {
      find(Username);
      users.delete(Username);
      return {};
    },
    // One group a page.
    AdminListGroupsForUser: ({ Username, NextToken = '0' }) => {
      const names = [...find(Username).groups];
      const index = Number(NextToken);
      const Groups = names.slice(index, index + 1).map((GroupName) => ({ GroupName }));
      return { Groups, ...(index + 1 < names.length && { NextToken: String(index + 1) }) };
    },
    ListUsers: (body) => {
      const prefix = /^email \^= "(.*)"$/.exec(body.Filter ?? 'email ^= ""')?.[1];
      if (prefix === undefined) throw new Rejection('InvalidParameterException');
      const found = [...users].filter(([email]) => email.startsWith(prefix));
      const { listed, next } = page(found, body, body.PaginationToken);
      return { Users: listed, ...(next !== undefined && { PaginationToken: next }) };
    },
    ListUsersInGroup: (body) => {
      const group = requireGroup(body.GroupName);
      const found = [...users].filter(([, user]) => user.groups.has(group));
      const { listed, next } = page(found, body, body.NextToken);
      return { Users: listed, ...(next !== undefined && { NextToken: next }) };
    },
  };
  return operations;
};

export type UserPoolStandIn = {
  /** The client of the admin function, on the stand-in. */
  pool: UserPool;
  users: Map<string, User>;
  /** Rejects every call by this name; undefined: none. */
  failWith(name: string | undefined): void;
  close(): Promise<void>;
};

/** Cognito's API for one pool with the groups of every stage, on loopback; it requires a valid signature. */
export const startUserPool = async (): Promise<UserPoolStandIn> => {
  const users = new Map<string, User>();
  const operations = createOperations(users, new Set(['operator', 'viewer']));
  let failure: string | undefined;
  const server = await listen(
    createServer(async (request, response) => {
      const body = await text(request);
      const verdict = verifySignature(request, body, SECRET);
      const [service, name = ''] = String(request.headers['x-amz-target']).split('.');
      try {
        if (failure !== undefined) throw new Rejection(failure);
        if (!verdict?.isValid || verdict.service !== 'cognito-idp') {
          throw new Rejection('AccessDeniedException');
        }
        const operation = operations[name];
        if (service !== 'AWSCognitoIdentityProviderService' || !operation) {
          throw new Rejection('UnknownOperationException');
        }
        const found = operation(Body.parse(JSON.parse(body)));
        response.writeHead(200).end(JSON.stringify(found));
      } catch (error) {
        if (!(error instanceof Rejection)) throw error;
        response.writeHead(400).end(JSON.stringify({ __type: error.type, message: error.message }));
      }
    }),
  );
  const pool = createUserPool({
    region: 'eu-central-1',
    endpoint: server.url,
    credentials: async () => ({ accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET }),
    clock: systemClock,
    id: POOL,
  });
  return {
    pool,
    users,
    failWith: (name) => {
      failure = name;
    },
    close: async () => {
      pool.destroy();
      await server.close();
    },
  };
};
