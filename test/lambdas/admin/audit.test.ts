import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { DynamoClient } from '../../../lambdas/stores/dynamo/dynamo-client.ts';
import { type AdminBench, adminOn, OPERATOR, userIn } from '../../support/admin-bench.ts';
import { startDynamo, TABLE_NAMES, type TestDynamo } from '../../support/dynamo.ts';
import { useRouter } from '../../support/local.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { runCli } from '../../support/run-cli.ts';

const START = Date.parse('2026-10-31T23:59:50Z');
const PLAN = { rpm: 1, quota: 10, period: 'day' };

let dynamo: TestDynamo;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.close());

const Entries = z.object({
  data: z.array(z.looseObject({ id: z.string(), action: z.string(), outcome: z.string() })),
  next_cursor: z.string().nullable(),
});
const NewKey = z.object({ id: z.string(), key: z.string() });

const entriesOf = async (admin: AdminBench, query = '') =>
  Entries.parse((await admin.send({ path: `/admin/audit${query}` })).body);

type Failure = 'none' | 'before' | 'after';

/** A client whose writes fail, before they are sent or because the response is lost. */
const failing = (client: DynamoClient, failureOf: (table: string) => Failure): DynamoClient => ({
  ...client,
  call: async (operation, input) => {
    const failure = operation === 'UpdateItem' ? failureOf(input.TableName) : 'none';
    if (failure === 'before') throw new Error('connection reset');
    const output = await client.call(operation, input).catch((error: unknown) => {
      if (failure === 'none') throw error;
    });
    if (failure === 'none' && output) return output;
    throw new Error('connection reset');
  },
});

describe('the audit', () => {
  test('every change is listed with who, what, before and after, and without a secret', async () => {
    const admin = adminOn(dynamo.client);
    await admin.post('/admin/projects', { id: 'team', name: 'The Team' });
    await admin.post('/admin/plans', { id: 'small', ...PLAN });
    await admin.post('/admin/plans/small', { quota: 20 });
    const member = userIn('project:team');
    const keys = '/admin/projects/team/keys';
    const { body } = await admin.post(keys, { plan: 'small', name: 'ci' }, member);
    const { id, key } = NewKey.parse(body);
    const rotated = await admin.post(`${keys}/${id}/rotate`, { overlap: '1h' });
    const second = NewKey.parse(rotated.body);
    await admin.post(`${keys}/${second.id}/revoke`, {});
    await admin.post('/admin/apply', {
      projects: [{ id: 'team' }, { id: 'fresh' }],
      plans: [{ id: 'small', ...PLAN, quota: 5 }],
      force: true,
    });

    const page = await entriesOf(admin);
    expect(page.data.toReversed()).toMatchObject([
      { action: 'projects.create', who: OPERATOR, project: 'team', after: { name: 'The Team' } },
      { action: 'plans.create', plan: 'small', after: PLAN },
      { action: 'plans.set', plan: 'small', before: { quota: 10 }, after: { quota: 20 } },
      { action: 'keys.create', who: 'user@acme.example', project: 'team', plan: 'small', key: id },
      { action: 'keys.rotate', key: id, before: { status: 'active' }, after: { replaces: id } },
      { action: 'keys.revoke', key: second.id, after: { status: 'revoked' } },
      { action: 'projects.create', project: 'fresh' },
      { action: 'plans.set', before: { quota: 20 }, after: { quota: 5 } },
    ]);
    expect(page.data.every(({ outcome }) => outcome === 'applied')).toBe(true);
    expect(page.next_cursor).toBeNull();
    const text = JSON.stringify(page) + admin.lines.join('');
    for (const secret of [key, second.key]) expect(text).not.toContain(secret);
    expect(text).not.toContain('hash');
    const changed = admin.lines.filter((line) => line.includes('"admin_change"'));
    expect(changed).toHaveLength(8);
    expect(changed.join('')).toContain(`"keyId":"${second.id}"`);
  });

  test('a rejected change and one without an effect are not listed', async () => {
    const admin = adminOn(dynamo.client);
    await admin.post('/admin/projects', { id: 'once' });
    const { data: before } = await entriesOf(admin, '?limit=1000');
    expect((await admin.post('/admin/projects', { id: 'once' })).status).toBe(409);
    expect((await admin.post('/admin/projects', { id: 'not valid' })).status).toBe(400);
    expect((await admin.post('/admin/apply', { projects: [{ id: 'once' }] })).status).toBe(200);
    expect(await entriesOf(admin, '?limit=1000')).toMatchObject({ data: before });
  });

  test('pages, filters and a month boundary neither lose nor repeat an entry', async () => {
    const clock = createManualClock(START);
    const own = await startDynamo();
    const admin = adminOn(own.client, { clock });
    for (let index = 0; index < 6; index += 1) {
      await admin.post(
        '/admin/projects',
        { id: `p${index}` },
        index % 2 ? userIn('operator') : { userArn: OPERATOR },
      );
      clock.advance(5_000);
    }
    const plans = [1, 2, 3].map((index) => ({ id: `plan${index}`, ...PLAN }));
    await admin.post('/admin/apply', { plans });
    const all = (await entriesOf(admin)).data.map(({ id }) => id);
    expect(all).toHaveLength(9);
    const paged: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page = await entriesOf(
        admin,
        `?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      paged.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    expect(paged).toEqual(all);

    const who = await entriesOf(admin, '?who=ACME');
    expect(who.data.map(({ project }) => project)).toEqual(['p5', 'p3', 'p1']);
    const one = await entriesOf(admin, '?project=p2');
    expect(one.data).toMatchObject([{ project: 'p2', at: '2026-11-01T00:00:00Z' }]);
    const range = '?since=2026-10-31T23:59:55Z&until=2026-11-01T00:00:05Z';
    expect((await entriesOf(admin, range)).data.map(({ project }) => project)).toEqual([
      'p2',
      'p1',
    ]);
    clock.advance(91 * 86_400_000);
    expect((await entriesOf(admin)).data).toEqual([]);
    expect((await admin.send({ path: '/admin/audit?cursor=x' })).status).toBe(400);
    await own.close();
  });

  test('without its table no change is made, and the answer is a 503 that says so', async () => {
    const admin = adminOn(
      failing(dynamo.client, (table) => (table === TABLE_NAMES.history ? 'before' : 'none')),
    );
    const { status, body } = await admin.post('/admin/projects', { id: 'unrecorded' });
    expect(status).toBe(503);
    expect(JSON.stringify(body)).toContain('the change was not made');
    const { body: projects } = await adminOn(dynamo.client).send({ path: '/admin/projects' });
    expect(JSON.stringify(projects)).not.toContain('unrecorded');
  });

  test.each([
    ['true', 'user@acme.example'],
    ['false', 'a0b1'],
    ['', 'a0b1'],
    [undefined, 'a0b1'],
  ])(
    'a change by a user whose address is verified %j is listed with the name %s',
    async (email_verified, name) => {
      const admin = adminOn(dynamo.client);
      const { email_verified: _, ...claims } = userIn('operator').claims;
      const by = { claims: { ...claims, ...(email_verified !== undefined && { email_verified }) } };
      await admin.post(
        '/admin/projects',
        { id: `by-${email_verified || typeof email_verified}` },
        by,
      );
      expect((await entriesOf(admin, '?limit=1')).data).toMatchObject([{ who: name }]);
    },
  );

  test('a change whose outcome could not be written is listed with the outcome unknown and what was requested', async () => {
    let writes = 0;
    const admin = adminOn(
      failing(dynamo.client, (table) => {
        if (table !== TABLE_NAMES.history) return 'none';
        writes += 1;
        return writes > 1 ? 'before' : 'none';
      }),
    );
    const sent = await admin.post('/admin/projects', { id: 'half', name: 'Half' });
    expect(sent.status).toBe(201);
    const lines = admin.lines.map((line) => JSON.parse(line).event);
    expect(lines).toEqual(['admin_change', 'audit_write_failed', 'request']);
    const [last] = (await entriesOf(admin)).data;
    expect(last).toMatchObject({
      action: 'projects.create',
      outcome: 'unknown',
      after: { id: 'half', name: 'Half' },
    });
  });

  test('a repeat of a write whose first response was lost is recorded as applied', async () => {
    let writes = 0;
    const once = (): Failure => {
      writes += 1;
      return writes === 1 ? 'after' : 'none';
    };
    for (const [table, path, body] of [
      [TABLE_NAMES.projects, '/admin/projects', { id: 'lost', name: 'Lost' }],
      [TABLE_NAMES.plans, '/admin/plans', { id: 'lost', ...PLAN }],
    ] as const) {
      writes = 0;
      const admin = adminOn(failing(dynamo.client, (name) => (name === table ? once() : 'none')));
      expect((await admin.post(path, body)).status).toBe(201);
      const [last] = (await entriesOf(admin)).data;
      expect(last).toMatchObject({ outcome: 'applied', after: body });
    }
  });

  test('a change whose own write had no response is a 503 and listed with the outcome unknown', async () => {
    const admin = adminOn(
      failing(dynamo.client, (table) => (table === TABLE_NAMES.plans ? 'after' : 'none')),
    );
    const { status } = await admin.post('/admin/plans', { id: 'maybe', ...PLAN });
    expect(status).toBe(503);
    const [last] = (await entriesOf(adminOn(dynamo.client))).data;
    expect(last).toMatchObject({
      action: 'plans.create',
      outcome: 'unknown',
      after: { id: 'maybe' },
    });
  });
});

const router = useRouter();

test('npm run admin -- audit prints who changed which fields', async () => {
  const cli = (...args: string[]) => runCli([...args, '--url', router().baseUrl]);
  await cli('plans', 'set', 'local', '--rpm', '1200');
  const { out, code } = await cli('audit', '--since', '1h', '--who', 'local');
  expect(code).toBe(0);
  expect(out).toMatch(/^AT +WHO +ACTION +PROJECT +PLAN +KEY +MEMBER +OUTCOME +CHANGE\n/);
  expect(out).toMatch(/local +plans\.set +- +local +- +- +applied +rpm 600 -> 1200$/m);
});
