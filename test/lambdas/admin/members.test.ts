import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { type AdminBench, adminOn, userIn } from '../../support/admin-bench.ts';
import { type MemoryTables, startMemory } from '../../support/memory-stores.ts';
import { startUserPool, type UserPoolStandIn } from '../../support/user-pool.ts';

let tables: MemoryTables;
let cognito: UserPoolStandIn;
let admin: AdminBench;
beforeAll(async () => {
  [tables, cognito] = await Promise.all([startMemory(), startUserPool()]);
  admin = adminOn(tables.client, { members: cognito.pool });
  await admin.post('/admin/projects', { id: 'team' });
});
afterAll(() => Promise.all([tables.close(), cognito.close()]));
beforeEach(() => {
  cognito.users.clear();
  cognito.failWith(undefined);
});

const OLGA = 'olga@example.com';

const addUser = (email: string, ...groups: string[]) =>
  cognito.users.set(email, { status: 'CONFIRMED', groups: new Set(groups), emails: 0 });

const rolesOf = (email: string) => [...(cognito.users.get(email)?.groups ?? [])].toSorted();

const invite = (role: string, email = OLGA) => admin.post('/admin/members', { email, role });

const list = async (query = '') => {
  const { body } = await admin.send({ path: `/admin/members${query}` });
  const Page = z.object({
    data: z.array(z.looseObject({ email: z.string() })),
    next_cursor: z.string().nullable(),
  });
  return Page.parse(body);
};

test('an invited member gets an e-mail and the role, and is listed as invited', async () => {
  expect(await invite('project:team', 'Olga@Example.com')).toMatchObject({
    status: 201,
    body: { email: OLGA, roles: ['project:team'], invitation: 'sent' },
  });
  expect(cognito.users.get(OLGA)?.emails).toBe(1);
  expect((await list()).data).toEqual([
    {
      email: OLGA,
      roles: ['project:team'],
      status: 'invited',
      invited_at: '2026-11-12T00:00:00Z',
    },
  ]);
});

test('a second invitation is sent again until the first sign-in, and adds its role', async () => {
  await invite('operator');
  expect(await invite('viewer')).toMatchObject({
    body: { roles: ['operator', 'viewer'], invitation: 'sent again' },
  });
  addUser(OLGA, 'viewer');
  expect(await invite('operator')).toMatchObject({
    body: { roles: ['operator', 'viewer'], invitation: 'none' },
  });
  expect(rolesOf(OLGA)).toEqual(['operator', 'viewer']);
});

test('the roles of a member become exactly those that are set', async () => {
  addUser(OLGA, 'operator', 'viewer');
  const set = await admin.post(`/admin/members/${encodeURIComponent(OLGA)}`, {
    roles: ['viewer', 'project:team'],
  });
  expect(set).toMatchObject({ status: 200, body: { roles: ['project:team', 'viewer'] } });
  expect(rolesOf(OLGA)).toEqual(['project:team', 'viewer']);
});

test.each([
  ['invited', () => invite('operator')],
  ['given a role', () => admin.post(`/admin/members/${OLGA}`, { roles: ['viewer', 'operator'] })],
])('a user with an unverified address who is %s gets 409 and no role', async (_, change) => {
  cognito.users.set(OLGA, {
    ...{ status: 'CONFIRMED', groups: new Set(['viewer']), emails: 0 },
    isUnverified: true,
  });
  expect(await change()).toMatchObject({
    status: 409,
    body: { error: { message: expect.stringContaining('has not verified this address') } },
  });
  expect(rolesOf(OLGA)).toEqual(['viewer']);
  const less = await admin.post(`/admin/members/${OLGA}`, { roles: ['viewer'] });
  expect(less.status).toBe(200);
});

test('a removed member has no user in the pool, and removing it again is a 404', async () => {
  addUser(OLGA, 'viewer');
  const remove = () => admin.post(`/admin/members/${OLGA}/remove`, {});
  expect(await remove()).toMatchObject({ status: 200, body: { removed: true } });
  expect(cognito.users.size).toBe(0);
  expect(await remove()).toMatchObject({ status: 404 });
});

test('members are listed in pages, by the beginning of an address, and by project', async () => {
  for (let index = 0; index < 30; index += 1) {
    addUser(`u${index}@example.com`, index === 7 ? 'project:team' : 'viewer');
  }
  const first = await list();
  const second = await list(`?cursor=${first.next_cursor}`);
  expect([first.data.length, second.data.length]).toEqual([25, 5]);
  expect(second.next_cursor).toBeNull();
  expect((await list('?q=u2')).data).toHaveLength(11);
  expect((await list('?project=team')).data).toMatchObject([{ email: 'u7@example.com' }]);
  expect((await list('?project=unknown')).data).toEqual([]);
});

test.each([
  ['an unknown project', { email: OLGA, role: 'project:unknown' }, 'role'],
  ['an unknown role', { email: OLGA, role: 'king' }, 'role'],
  ['an address without @', { email: 'olga', role: 'viewer' }, 'email'],
])('an invitation with %s is a 400 that names its field', async (_, body, param) => {
  expect(await admin.post('/admin/members', body)).toMatchObject({
    status: 400,
    body: { error: { param } },
  });
  expect(cognito.users.size).toBe(0);
});

test('operators cannot take the role of operator from themselves', async () => {
  const self = userIn('operator');
  addUser('user@acme.example', 'operator');
  const path = '/admin/members/USER@acme.example';
  expect(await admin.post(path, { roles: ['viewer'] }, self)).toMatchObject({ status: 409 });
  expect(await admin.post(`${path}/remove`, {}, self)).toMatchObject({ status: 409 });
  expect(await admin.post(path, { roles: ['operator', 'viewer'] }, self)).toMatchObject({
    status: 200,
  });
});

test('a change of a member is in the audit with its roles before and after', async () => {
  addUser(OLGA, 'viewer');
  await admin.post(`/admin/members/${OLGA}`, { roles: ['operator'] });
  const { body } = await admin.send({ path: '/admin/audit?limit=1' });
  expect(body).toMatchObject({
    data: [
      {
        action: 'members.set',
        member: OLGA,
        before: { roles: ['viewer'] },
        after: { roles: ['operator'] },
        outcome: 'applied',
      },
    ],
  });
});

test('a failure of the pool is a 503 with its name', async () => {
  cognito.failWith('LimitExceededException');
  expect(await invite('viewer')).toMatchObject({
    status: 503,
    body: { error: { message: expect.stringContaining('LimitExceededException') } },
  });
});

test('without a pool the list of members is a 404 that states why', async () => {
  const without = adminOn(tables.client);
  expect(await without.send({ path: '/admin/members' })).toMatchObject({
    status: 404,
    body: { error: { message: expect.stringContaining('needs no sign-in') } },
  });
});
