import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type LocalRouter, startLocal } from '../../local/start.ts';
import { runCli } from '../support/run-cli.ts';
import { startUserPool, type UserPoolStandIn } from '../support/user-pool.ts';

let cognito: UserPoolStandIn;
let router: LocalRouter;
beforeAll(async () => {
  cognito = await startUserPool();
  router = await startLocal({ members: cognito.pool });
});
afterAll(() => Promise.all([router.close(), cognito.close()]));
beforeEach(() => cognito.users.clear());

const admin = (...args: string[]) => runCli([...args, '--url', router.baseUrl, '--yes']);

const rolesOf = (email: string) => [...(cognito.users.get(email)?.groups ?? [])];

test('operators invite creates an operator, and members invite a member of a project', async () => {
  expect(await admin('operators', 'invite', 'olga@example.com')).toMatchObject({
    code: 0,
    err: expect.stringContaining('valid for 3 days'),
  });
  await admin('members', 'invite', 'tom@example.com', '--role', 'project:local');
  expect(rolesOf('olga@example.com')).toEqual(['operator']);
  expect(rolesOf('tom@example.com')).toEqual(['project:local']);
});

test('members list prints every member with its roles, over all pages', async () => {
  for (let index = 10; index < 40; index += 1) {
    const groups = new Set(['viewer', 'project:local']);
    cognito.users.set(`u${index}@example.com`, { status: 'CONFIRMED', groups, emails: 0 });
  }
  const { code, out } = await admin('members', 'list');
  expect(code).toBe(0);
  expect(out.match(/u\d\d@example\.com\s+project:local, viewer\s+active/g)).toHaveLength(30);
});

test('members set replaces the roles, and members remove the member', async () => {
  const groups = new Set(['operator']);
  cognito.users.set('a@example.com', { status: 'CONFIRMED', groups, emails: 0 });
  await admin('members', 'set', 'a@example.com', '--role', 'viewer', '--role', 'project:local');
  expect(rolesOf('a@example.com')).toEqual(['viewer', 'project:local']);
  await admin('members', 'remove', 'a@example.com');
  expect(cognito.users.size).toBe(0);
  expect(await admin('members', 'remove', 'a@example.com')).toMatchObject({
    code: 1,
    err: expect.stringContaining("Member 'a@example.com' not found."),
  });
});

test.each([
  [['members', 'invite', 'o@example.com'], 2, 'Missing option: --role'],
  [['members', 'invite', 'o@example.com', '--role', 'king'], 1, 'role: must be operator'],
])('%j exits with its code and invites no member', async (args, code, message) => {
  expect(await admin(...args)).toMatchObject({ code, err: expect.stringContaining(message) });
  expect(cognito.users.size).toBe(0);
});
