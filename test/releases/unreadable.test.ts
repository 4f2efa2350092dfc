import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { describeFailure } from '../../lambdas/http/describe-failure.ts';
import { createAuthenticate } from '../../lambdas/keys/authenticate.ts';
import type { MeterStore } from '../../lambdas/stores/meter-store.ts';
import type { TableName } from '../../lambdas/tables.ts';
import { type AdminBench, adminOn } from '../support/admin-bench.ts';
import { startDynamo, storesOn, TABLE_NAMES, type TestDynamo } from '../support/dynamo.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { fc, sample, share } from '../support/seeds.ts';

const START = Date.parse('2026-11-21T11:30:00Z');
const DAY = 86_400_000;

const NewKey = z.looseObject({ id: z.string(), key: z.string() });
const Usage = z.object({ data: z.array(z.looseObject({ id: z.string(), meter: z.string() })) });
const List = z.object({ data: z.array(z.looseObject({ id: z.string() })) });

/** Members of each kind of item that it cannot be used without, and what a later version might write into them. */
const TYPES = { text: 'week', number: -5, flag: true, list: ['x'], map: { of: 1 } };
const MEMBERS = {
  keys: ['status', 'planId', 'createdAt', 'models', 'rpm', 'expiresAt', 'needs'],
  plans: ['rpm', 'quota', 'period', 'models', 'replay', 'concurrency', 'needs'],
  projects: ['createdAt', 'name', 'plans', 'maxKeys', 'needs'],
  meters: ['needs'],
} as const satisfies Partial<Record<TableName, string[]>>;
/** Of the same type as today's. */
const VALID: Record<string, keyof typeof TYPES> = {
  ...{ planId: 'text', name: 'text', createdAt: 'number', rpm: 'number', quota: 'number' },
  ...{ expiresAt: 'number', concurrency: 'number', maxKeys: 'number' },
  ...{ models: 'list', plans: 'list' },
};

type Foreign = { table: keyof typeof MEMBERS; member: string; value: unknown };

/** In `npm test` each member has one value of another type. */
const foreignItems: Foreign[] = Object.entries(MEMBERS).flatMap(([table, members]) =>
  members.flatMap((member, index) => {
    const values = Object.entries(TYPES).filter(([type]) => VALID[member] !== type);
    return sample(values, values.length, index).map(([, value]) => ({
      ...{ table: table as Foreign['table'], member, value },
    }));
  }),
);

describe('items of a later version', () => {
  let dynamo: TestDynamo;
  let meters: MeterStore;
  beforeEach(async () => {
    dynamo = await startDynamo();
    ({ meters } = storesOn(dynamo.client));
  });
  afterEach(() => dynamo.close());

  let count = 0;
  const setUp = async () => {
    count += 1;
    const clock = createManualClock(START);
    const admin = adminOn(dynamo.client, { clock });
    const authenticate = createAuthenticate({ ...storesOn(dynamo.client), clock });
    const failureOf = async (key: string): Promise<string> => {
      try {
        const { caller, confirm } = await authenticate({ 'x-api-key': key });
        await confirm?.();
        const minute = Math.floor(START / 60_000);
        const unit = { meterId: caller.meterId, requestId: `req_${key.slice(-20)}`, minute };
        const window = { period: '2026-11-21', now: START, keyId: caller.keyId };
        const { outcome } = await meters.reserve({
          ...unit,
          ...window,
          ...caller.plan,
          period: window.period,
        });
        if (outcome === 'admitted') await meters.charge({ ...unit, period: window.period });
        return outcome;
      } catch (error) {
        return describeFailure(error).failure;
      }
    };
    return { clock, admin, failureOf };
  };

  /** A project with a plan and a key; its names end in a letter. */
  const create = async (admin: AdminBench, letter: string) => {
    const name = `p${count}${letter}`;
    await admin.post('/admin/projects', { id: name });
    await admin.post('/admin/plans', { id: name, rpm: 100, quota: 100, period: 'day' });
    const { body } = await admin.post(`/admin/projects/${name}/keys`, { plan: name });
    const { id, key } = NewKey.parse(body);
    const usage = await admin.send({ path: `/admin/projects/${name}/usage` });
    const [row] = Usage.parse(usage.body).data;
    const record = (await storesOn(dynamo.client).keys.listKeys(name))[0];
    const at = { keys: record?.hash, plans: name, projects: name, meters: row?.meter };
    return { name, id, key, at };
  };

  const write = async ({ table, member, value }: Foreign, pk: string | undefined) => {
    await dynamo.sdk.send(
      new UpdateCommand({
        TableName: TABLE_NAMES[table],
        Key: { pk },
        UpdateExpression: 'SET #member = :value',
        ExpressionAttributeNames: { '#member': member },
        ExpressionAttributeValues: { ':value': value },
      }),
    );
  };

  const readList = async (admin: AdminBench, path: string) => {
    const { status, body } = await admin.send({ path });
    expect({ path, status }).toEqual({ path, status: 200 });
    return List.parse(body).data;
  };

  const rowOf = async (admin: AdminBench, path: string, id: string) =>
    (await readList(admin, path)).find((row) => row.id === id);

  type Made = Awaited<ReturnType<typeof create>>;
  /** A project, and what it has of a later version, if anything. */
  type Checked = { made: Made; foreign?: Foreign };

  /** Marks of the lists that hold the projects. */
  const checkLists = async (admin: AdminBench, checked: Checked[]) => {
    const projects = await readList(admin, '/admin/projects');
    const plans = await readList(admin, '/admin/plans');
    for (const { made, foreign } of checked) {
      const { name, id } = made;
      const about = `With ${JSON.stringify(foreign)}`;
      const markOf = (...tables: Foreign['table'][]) =>
        foreign && tables.includes(foreign.table) ? true : undefined;
      expect(projects.find((row) => row.id === name)?.unreadable, about).toBe(markOf('projects'));
      expect(plans.find((row) => row.id === name)?.unreadable, about).toBe(markOf('plans'));
      if (foreign?.table === 'projects') continue;
      const key = await rowOf(admin, `/admin/projects/${name}/keys`, id);
      expect(key?.status, about).toBe(foreign?.table === 'keys' ? 'unreadable' : 'active');
      const usage = await rowOf(admin, `/admin/projects/${name}/usage`, id);
      expect(usage?.unreadable, about).toBe(markOf('plans', 'meters'));
    }
  };

  /** All that can be done with a key of a later version is to revoke it. */
  const checkChanges = async (admin: AdminBench, { name, id }: Made) => {
    const path = `/admin/projects/${name}/keys/${id}`;
    for (const change of ['pause', 'rotate']) {
      expect(await admin.post(`${path}/${change}`, {})).toMatchObject({
        status: 503,
        body: { error: { message: 'A later version of the router wrote this key.' } },
      });
    }
    expect((await admin.post(`${path}/revoke`, {})).status).toBe(200);
  };

  test.each(Object.keys(MEMBERS) as Foreign['table'][])(
    'an item of %s with an unknown status, kind, type or need fails alone: requests 503, marked in lists, and the history of the others is written',
    async (table) => {
      const { clock, admin, failureOf } = await setUp();
      const odd: Required<Checked>[] = [];
      for (const foreign of foreignItems.filter((item) => item.table === table)) {
        const made = await create(admin, 'a'.repeat(odd.length + 1));
        await write(foreign, made.at[table]);
        odd.push({ made, foreign });
      }
      const good = [await create(admin, 'y'), await create(admin, 'z')];
      const expected = table === 'projects' ? /^admitted$/ : /UnreadableItem/;
      for (const { made, foreign } of odd) {
        expect(await failureOf(made.key), JSON.stringify(foreign)).toMatch(expected);
      }
      for (const { key } of good) expect(await failureOf(key)).toBe('admitted');
      await checkLists(admin, [...odd, ...good.map((made) => ({ made }))]);
      expect((await admin.send({ path: '/admin/checks' })).status).toBe(200);
      for (const { made } of table === 'keys' ? odd : []) await checkChanges(admin, made);
      clock.advance(2 * DAY);
      const job = await admin.post('/admin/history/reconcile', {});
      expect(job.status).toBe(200);
      const { history } = storesOn(dynamo.client);
      for (const { name } of good) {
        expect(await history.readPeriods(name, '2026-11')).toMatchObject([{ used: 1 }]);
      }
    },
  );

  test('an item with an unknown attribute works as before, in any of 40 cases', async () => {
    const anyAttribute = fc.record({
      table: fc.constantFrom('keys', 'plans', 'projects'),
      member: fc.stringMatching(/^x[a-z]{1,8}$/),
      value: fc.constantFrom(...Object.values(TYPES)),
    });
    const works = fc.asyncProperty(anyAttribute, async (foreign) => {
      const { admin, failureOf } = await setUp();
      const one = await create(admin, 'a');
      await write(foreign as Foreign, one.at[foreign.table as 'keys']);
      expect(await failureOf(one.key)).toBe('admitted');
      const key = await rowOf(admin, `/admin/projects/${one.name}/keys`, one.id);
      expect(key?.status).toBe('active');
    });
    await fc.assert(works, { numRuns: share(40) });
  });
});
