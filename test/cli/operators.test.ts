import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { listen } from '../../local/loopback.ts';
import { startAwsStandIn } from '../support/aws-stand-in.ts';
import { runCli } from '../support/run-cli.ts';
import { verifySignature } from '../support/verify-signature.ts';

const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const POOL = 'eu-central-1_Pool';

const Body = z.object({
  UserPoolId: z.literal(POOL),
  Username: z.string().optional(),
  GroupName: z.string().optional(),
  PaginationToken: z.string().optional(),
});

/** Users with their groups, in Cognito's API as its reference describes it. */
let users: Map<string, Set<string>>;
let groups: Set<string>;

class Rejection extends Error {
  readonly type: string;
  constructor(type: string) {
    super(`${type} of the stand-in`);
    this.type = type;
  }
}

const groupsOf = (name = ''): Set<string> => {
  const found = users.get(name);
  if (!found) throw new Rejection('UserNotFoundException');
  return found;
};

/** One user a page. */
const listUsers = (token: string | undefined) => {
  const names = [...users.keys()];
  const index = Number(token ?? '0');
  const next = index + 1 < names.length ? { PaginationToken: String(index + 1) } : {};
  const Users = names.slice(index, index + 1).map((email) => ({
    Username: `sub-of-${email}`,
    UserStatus: 'CONFIRMED',
    Attributes: [{ Name: 'email', Value: email }],
  }));
  return { Users, ...next };
};

const OPERATIONS: Record<string, (body: z.infer<typeof Body>) => object> = {
  AdminCreateUser: ({ Username = '' }) => {
    if (users.has(Username)) throw new Rejection('UsernameExistsException');
    users.set(Username, new Set());
    return {};
  },
  CreateGroup: ({ GroupName = '' }) => {
    if (groups.has(GroupName)) throw new Rejection('GroupExistsException');
    groups.add(GroupName);
    return {};
  },
  AdminAddUserToGroup: ({ Username, GroupName = '' }) => {
    if (!groups.has(GroupName)) throw new Rejection('ResourceNotFoundException');
    groupsOf(Username).add(GroupName);
    return {};
  },
  AdminRemoveUserFromGroup: ({ Username, GroupName = '' }) => {
    groupsOf(Username).delete(GroupName);
    return {};
  },
  AdminDeleteUser: ({ Username = '' }) => {
    groupsOf(Username);
    users.delete(Username);
    return {};
  },
  AdminListGroupsForUser: ({ Username = '' }) => ({
    Groups: [...groupsOf(Username.replace('sub-of-', ''))].map((GroupName) => ({ GroupName })),
  }),
  ListUsers: ({ PaginationToken }) => listUsers(PaginationToken),
};

let aws: Awaited<ReturnType<typeof startAwsStandIn>>;
let cognito: Awaited<ReturnType<typeof listen>>;

beforeAll(async () => {
  cognito = await listen(
    createServer(async (request, response) => {
      const body = await text(request);
      const verdict = verifySignature(request, body, SECRET);
      const name = String(request.headers['x-amz-target']).split('.')[1] ?? '';
      try {
        if (!verdict?.isValid || verdict.service !== 'cognito-idp') {
          throw new Rejection('AccessDeniedException');
        }
        const answer = OPERATIONS[name]?.(Body.parse(JSON.parse(body)));
        response.writeHead(200).end(JSON.stringify(answer));
      } catch (error) {
        if (!(error instanceof Rejection)) throw error;
        response.writeHead(400).end(JSON.stringify({ __type: error.type, message: error.message }));
      }
    }),
  );
  aws = await startAwsStandIn({
    stack: 'model-router-prod',
    secretAccessKey: SECRET,
    behind: cognito.url,
    outputs: { ConsoleUsers: POOL },
  });
});
afterAll(() => Promise.all([aws.close(), cognito.close()]));

beforeEach(() => {
  users = new Map();
  groups = new Set(['operator', 'viewer']);
});

const admin = (args: string[]) =>
  runCli(['operators', ...args], {
    AWS_ENDPOINT_URL_CLOUDFORMATION: aws.endpoint,
    AWS_ENDPOINT_URL_COGNITO_IDENTITY_PROVIDER: cognito.url,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: SECRET,
    AWS_CONFIG_FILE: '/nowhere',
    AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
  });

const STACK = ['--stack', 'model-router-prod'];

test('operators invite creates a user of the pool in its role, and a second invitation adds a role', async () => {
  const first = await admin(['invite', 'olga@example.com', ...STACK]);
  expect(first).toMatchObject({ code: 0, out: expect.stringContaining('invited by e-mail') });
  const second = await admin(['invite', 'olga@example.com', '--role', 'project:team', ...STACK]);
  expect(second).toMatchObject({ code: 0, out: expect.stringContaining('role added') });
  expect([...(users.get('olga@example.com') ?? [])]).toEqual(['operator', 'project:team']);
});

test('operators list prints every user with roles, over all pages', async () => {
  users.set('a@example.com', new Set(['operator']));
  users.set('b@example.com', new Set(['viewer', 'project:team']));
  const { code, out } = await admin(['list', ...STACK]);
  expect(code).toBe(0);
  expect(out).toMatch(/a@example\.com\s+operator\s+confirmed/);
  expect(out).toMatch(/b@example\.com\s+viewer, project:team\s+confirmed/);
});

test('operators remove takes away one role, or the user', async () => {
  users.set('a@example.com', new Set(['operator', 'viewer']));
  await admin(['remove', 'a@example.com', '--role', 'viewer', '--yes', ...STACK]);
  expect([...(users.get('a@example.com') ?? [])]).toEqual(['operator']);
  await admin(['remove', 'a@example.com', '--yes', ...STACK]);
  expect(users.size).toBe(0);
  const again = await admin(['remove', 'a@example.com', '--yes', ...STACK]);
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining('UserNotFoundException') });
});

test.each([
  [['invite', 'olga', ...STACK], 'EMAIL must be an e-mail address'],
  [['invite', 'o@example.com', '--role', 'king', ...STACK], '--role must be operator'],
  [['list'], 'pass --stack NAME'],
])('operators %j exits with 2 and sends no request', async (args, message) => {
  const { code, err } = await admin(args);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
  expect(users.size).toBe(0);
});
