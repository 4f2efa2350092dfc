import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { OperationParts } from '../../../lambdas/admin/operation.ts';
import { createOperations } from '../../../lambdas/admin/operations.ts';
import { type AdminBench, adminOn, OPERATOR, userIn } from '../../support/admin-bench.ts';
import { type MemoryTables, startMemory } from '../../support/memory-stores.ts';

let tables: MemoryTables;
let admin: AdminBench;
beforeAll(async () => {
  tables = await startMemory();
  admin = adminOn(tables.client);
  for (const id of ['own', 'other']) await admin.post('/admin/projects', { id });
  await admin.post('/admin/plans', { id: 'small', rpm: 9, quota: 9, period: 'day' });
  await newKeyIn('own');
});
afterAll(() => tables.close());

const newKeyIn = async (project: string): Promise<string> => {
  const { body } = await admin.post(`/admin/projects/${project}/keys`, { plan: 'small' });
  return z.object({ id: z.string() }).parse(body).id;
};

const IDENTITIES = {
  'an IAM caller': { userArn: OPERATOR },
  'an operator of the console': userIn('operator'),
  'a viewer': userIn('viewer'),
  'a member': userIn('project:own'),
  'a viewer and member': userIn('viewer', 'project:own'),
  'a member of another project': userIn('project:other'),
  'a user without a role': userIn(),
  'a user of another group': userIn('project', 'operators'),
  'no one': undefined,
};
type Who = keyof typeof IDENTITIES;

const DENIED_TO_ALL = {
  'an IAM caller': 200,
  'an operator of the console': 200,
  'a viewer': 403,
  'a member': 403,
  'a viewer and member': 403,
  'a member of another project': 403,
  'a user without a role': 403,
  'a user of another group': 403,
  'no one': 403,
} satisfies Record<Who, number>;

/** The status of each identity; 200 stands for every status below 300. */
const EXPECTED = {
  operators: DENIED_TO_ALL,
  'all with a role': {
    ...DENIED_TO_ALL,
    'a viewer': 200,
    'a member': 200,
    'a viewer and member': 200,
    'a member of another project': 200,
  },
  'members and viewers': {
    ...DENIED_TO_ALL,
    'a viewer': 200,
    'a member': 200,
    'a viewer and member': 200,
    'a member of another project': 404,
  },
  'operators and viewers': { ...DENIED_TO_ALL, 'a viewer': 200, 'a viewer and member': 200 },
  'operators, of a project': { ...DENIED_TO_ALL, 'a member of another project': 404 },
  members: {
    ...DENIED_TO_ALL,
    'a member': 200,
    'a viewer and member': 200,
    'a member of another project': 404,
  },
} satisfies Record<string, Record<Who, number>>;
type Group = keyof typeof EXPECTED;

const PLAN = { rpm: 1, quota: 1, period: 'day' };
const BUDGET = { max_usd: 1, period: 'day' };
const WEBHOOK = { url: 'https://example.com' };

/** Method, path, who may, and a body; NEW stands for an id that is used once. */
const OPERATIONS: [string, string, Group, object?][] = [
  ['GET', '/projects', 'all with a role'],
  ['POST', '/projects', 'operators', { id: 'NEW' }],
  ['POST', '/projects/{project}', 'operators, of a project', { name: 'x' }],
  ['POST', '/projects/{project}/delete', 'operators, of a project', {}],
  ['GET', '/projects/{project}/webhook', 'members'],
  ['POST', '/projects/{project}/webhook', 'members', WEBHOOK],
  ['POST', '/projects/{project}/webhook/delete', 'members', {}],
  ['GET', '/plans', 'all with a role'],
  ['POST', '/plans', 'operators', { id: 'NEW', ...PLAN }],
  ['POST', '/plans/{plan}', 'operators', { rpm: 8 }],
  ['POST', '/plans/{plan}/delete', 'operators', {}],
  ['GET', '/projects/{project}/keys', 'members and viewers'],
  ['POST', '/projects/{project}/keys', 'members', { plan: 'small' }],
  ['GET', '/projects/{project}/keys/{key}', 'members and viewers'],
  ['POST', '/projects/{project}/keys/{key}', 'members', { name: 'x' }],
  ['POST', '/projects/{project}/keys/{key}/move', 'operators, of a project', { plan: 'small' }],
  ['POST', '/projects/{project}/keys/{key}/pause', 'members', {}],
  ['POST', '/projects/{project}/keys/{key}/resume', 'members', {}],
  ['POST', '/projects/{project}/keys/{key}/rotate', 'members', {}],
  ['POST', '/projects/{project}/keys/{key}/revoke', 'members', {}],
  ['POST', '/keys/find', 'all with a role', { start: 'mrk_live_0000' }],
  ['GET', '/budgets', 'operators and viewers'],
  ['GET', '/budget', 'operators and viewers'],
  ['POST', '/budget', 'operators', BUDGET],
  ['POST', '/budget/delete', 'operators', {}],
  ['GET', '/projects/{project}/budget', 'members and viewers'],
  ['POST', '/projects/{project}/budget', 'operators, of a project', BUDGET],
  ['POST', '/projects/{project}/budget/delete', 'operators, of a project', {}],
  ['GET', '/projects/{project}/keys/{key}/budget', 'members and viewers'],
  ['POST', '/projects/{project}/keys/{key}/budget', 'members', BUDGET],
  ['POST', '/projects/{project}/keys/{key}/budget/delete', 'members', {}],
  ['GET', '/projects/{project}/users/budget', 'members and viewers'],
  ['POST', '/projects/{project}/users/budget', 'members', BUDGET],
  ['POST', '/projects/{project}/users/budget/delete', 'members', {}],
  ['GET', '/projects/{project}/users/{user}/budget', 'members and viewers'],
  ['POST', '/projects/{project}/users/{user}/budget', 'members', BUDGET],
  ['POST', '/projects/{project}/users/{user}/budget/delete', 'members', {}],
  ['GET', '/projects/{project}/sessions/budget', 'members and viewers'],
  ['POST', '/projects/{project}/sessions/budget', 'members', BUDGET],
  ['POST', '/projects/{project}/sessions/budget/delete', 'members', {}],
  ['GET', '/projects/{project}/sessions/{session}/budget', 'members and viewers'],
  ['POST', '/projects/{project}/sessions/{session}/budget', 'members', BUDGET],
  ['POST', '/projects/{project}/sessions/{session}/budget/delete', 'members', {}],
  ['GET', '/members', 'operators and viewers'],
  ['POST', '/members', 'operators', { email: 'a@example.com', role: 'viewer' }],
  ['POST', '/members/{member}', 'operators', { roles: ['viewer'] }],
  ['POST', '/members/{member}/remove', 'operators', {}],
  ['GET', '/projects/{project}/usage', 'members and viewers'],
  ['GET', '/projects/{project}/statements/{month}', 'members and viewers'],
  ['GET', '/usage', 'all with a role'],
  ['POST', '/history/reconcile', 'operators', {}],
  ['GET', '/exports/{format}', 'all with a role'],
  ['GET', '/requests', 'all with a role'],
  ['GET', '/requests/{request}', 'all with a role'],
  ['GET', '/audit', 'all with a role'],
  ['GET', '/checks', 'operators'],
  ['GET', '/overview', 'all with a role'],
  ['GET', '/incidents', 'operators and viewers'],
  ['GET', '/models', 'all with a role'],
  ['GET', '/targets', 'operators and viewers'],
  ['GET', '/targets/measured', 'operators and viewers'],
  ['GET', '/metrics', 'operators and viewers'],
  ['GET', '/calibration', 'operators and viewers'],
  ['POST', '/targets/test', 'operators', { place: '[0].targets[0]', call: 'whole' }],
  ['POST', '/apply', 'operators', {}],
];

/** Operations whose success needs more than a role: an unknown request, a catalog without targets. */
const OTHERWISE: Record<string, number> = {
  '/requests/{request}': 404,
  // Without the start of the range.
  '/exports/{format}': 400,
  '/keys/find': 404,
  '/targets/test': 400,
  // No pool.
  '/members': 404,
  '/members/{member}': 404,
  '/members/{member}/remove': 404,
  // They have keys.
  '/projects/{project}/delete': 409,
  '/plans/{plan}/delete': 409,
};

let ids = 0;
const freshId = (): string => {
  ids += 1;
  return `new-${ids}`;
};

const statusOf = async (
  [method, path, , body]: (typeof OPERATIONS)[number],
  by: (typeof IDENTITIES)[Who],
  project = 'own',
): Promise<number> => {
  const key = path.includes('{key}') ? await newKeyIn('own') : '';
  const filled = path
    .replace('{project}', project)
    .replace('{key}', key)
    .replace('{plan}', 'small')
    .replace('{month}', '2026-11')
    .replace('{request}', `req_${'0'.repeat(24)}`);
  // What is shown and deleted.
  const [budget] = /.*\/budget\b(?!s)/.exec(filled) ?? [];
  if (budget !== undefined && budget !== '/budget') await admin.post(`/admin${budget}`, BUDGET);
  if (filled.includes('/webhook')) await admin.post('/admin/projects/own/webhook', WEBHOOK);
  const text = body && JSON.stringify(body).replace('NEW', freshId());
  const sent = { method, path: `/admin${filled}`, by, ...(text !== undefined && { body: text }) };
  const { status } = await admin.send(sent);
  return status < 300 ? 200 : status;
};

const entriesInAudit = async (): Promise<number> => {
  const { body } = await admin.send({ path: '/admin/audit?limit=1000' });
  return z.object({ data: z.array(z.unknown()) }).parse(body).data.length;
};

describe('the roles', () => {
  // Of the organisation there is one.
  beforeEach(async () => {
    await admin.post('/admin/budget', BUDGET);
  });

  test('the table below has every operation of the admin API', () => {
    const routes = createOperations({} as OperationParts);
    const inCode = routes.map(({ method, pattern }) => `${method} ${pattern}`);
    expect(OPERATIONS.map(([method, path]) => `${method} ${path}`)).toEqual(inCode);
  });

  const cells = OPERATIONS.flatMap((operation) =>
    Object.entries(IDENTITIES).map(([who, by]) => {
      const [method, path, group] = operation;
      const allowed = EXPECTED[group][who as Who];
      const expected = allowed === 200 ? (OTHERWISE[path] ?? 200) : allowed;
      return { title: `${method} ${path} by ${who}`, operation, by, expected };
    }),
  );

  test.each(cells)('$title gets $expected', async ({ operation, by, expected }) => {
    expect(await statusOf(operation, by)).toBe(expected);
  });

  test('a denied operation changes nothing and leaves no entry in the audit', async () => {
    await newKeyIn('own');
    const denied = OPERATIONS.filter(
      ([method, path, group]) => method === 'POST' && !path.includes('{') && group === 'operators',
    );
    const before = await entriesInAudit();
    for (const who of ['a viewer', 'a member', 'no one'] as const) {
      for (const operation of denied) {
        expect(await statusOf(operation, IDENTITIES[who])).toBe(403);
      }
    }
    expect(await entriesInAudit()).toBe(before);
  });

  test.each([
    ['operate', 'POST', '/plans', 'Only operators may do this. Ask one of them.'],
    ['see all', 'GET', '/targets', 'Only operators and viewers may see this. Ask an operator.'],
  ])('a member who may not %s learns whom to ask', async (_, method, path, message) => {
    const by = userIn('project:own');
    const { body } = await admin.send({ method, path: `/admin${path}`, body: '{}', by });
    expect(JSON.stringify(body)).toContain(message);
  });

  test('a project that a member may not see is reported like one that does not exist', async () => {
    const by = userIn('project:own');
    const paths = ['/projects/ID/keys', '/projects/ID/usage', '/usage?project=ID'];
    for (const path of [...paths, '/requests?project=ID', '/audit?project=ID']) {
      const [foreign, absent] = await Promise.all(
        ['other', 'nowhere'].map((id) =>
          admin.send({ path: `/admin${path.replace('ID', id)}`, by }),
        ),
      );
      expect(foreign?.status).toBe(404);
      const text = JSON.stringify(foreign?.body);
      expect(text).toContain("Project 'other' not found.");
      expect(text.replace('other', 'nowhere')).toBe(JSON.stringify(absent?.body));
    }
  });

  test('a key of another project cannot be changed through the path of the own one', async () => {
    const foreign = await newKeyIn('other');
    const by = userIn('project:own');
    for (const verb of ['', '/pause', '/resume', '/rotate', '/revoke']) {
      const path = `/admin/projects/own/keys/${foreign}${verb}`;
      const { status } = await admin.post(path, verb === '' ? { name: 'mine' } : {}, by);
      expect(status).toBe(404);
    }
    const { body } = await admin.send({ path: '/admin/projects/other/keys' });
    expect(body).toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ id: foreign, status: 'active' })]),
    });
  });

  test('lists of a member have only what belongs to its projects', async () => {
    await newKeyIn('other');
    await newKeyIn('own');
    const by = userIn('project:own');
    const { body: projects } = await admin.send({ path: '/admin/projects', by });
    expect(projects).toEqual({ data: [expect.objectContaining({ id: 'own' })] });
    const { body } = await admin.send({ path: '/admin/audit?limit=1000', by });
    const { data } = z
      .object({ data: z.array(z.object({ project: z.string().optional() })) })
      .parse(body);
    expect(new Set(data.map(({ project }) => project))).toEqual(new Set(['own']));
  });
});
