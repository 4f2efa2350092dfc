import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type AdminBench, adminOn, userIn } from '../../support/admin-bench.ts';
import { startDynamo, type TestDynamo } from '../../support/dynamo.ts';
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts';

const PLAN = { rpm: 1, quota: 10, period: 'day' };
const START = Date.parse('2026-11-22T10:00:00Z');

let dynamo: TestDynamo;
let clock: ManualClock;
/** Two processes on one database. */
let admin: AdminBench;
let other: AdminBench;
beforeAll(async () => {
  dynamo = await startDynamo();
  clock = createManualClock(START);
  [admin, other] = [adminOn(dynamo.client, { clock }), adminOn(dynamo.client, { clock })];
  for (const id of ['small', 'large']) await admin.post('/admin/plans', { id, ...PLAN });
});
afterAll(() => dynamo.close());

const keysOf = (project: string) => `/admin/projects/${project}/keys`;

const idOf = (body: unknown): string => z.object({ id: z.string() }).parse(body).id;

const statusesOf = async (sent: Promise<{ status: number }>[]): Promise<number[]> =>
  (await Promise.all(sent)).map(({ status }) => status).toSorted();

describe('the number of keys of a project', () => {
  test('of 12 keys that two members create at the same moment a project with max_keys 5 gets 5', async () => {
    await admin.post('/admin/projects', { id: 'capped', max_keys: 5 });
    const by = userIn('project:capped');
    const create = (bench: AdminBench) => bench.post(keysOf('capped'), { plan: 'small' }, by);
    const sent = Array.from({ length: 6 }, () => [create(admin), create(other)]).flat();
    expect(await statusesOf(sent)).toEqual([...Array(5).fill(201), ...Array(7).fill(409)]);

    clock.advance(3_600_000);
    expect((await create(admin)).status).toBe(409);
    const { body } = await admin.send({ path: keysOf('capped') });
    const { data } = z.object({ data: z.array(z.object({ id: z.string() })) }).parse(body);
    const [first, second] = data.map(({ id }) => `${keysOf('capped')}/${id}`);
    expect((await admin.post(`${first}/rotate`, { overlap: '24h' }, by)).status).toBe(201);
    expect((await create(other)).status).toBe(409);
    await admin.post(`${second}/pause`, {}, by);
    expect((await create(other)).status).toBe(409);
    await admin.post(`${second}/revoke`, {}, by);
    expect(await statusesOf([create(admin), create(other)])).toEqual([201, 409]);
    await admin.post('/admin/projects/capped', { max_keys: null });
    expect((await create(admin)).status).toBe(201);
  });

  test('a key that has a successor gets another one only while its project has room', async () => {
    await admin.post('/admin/projects', { id: 'full', max_keys: 1 });
    const { body } = await admin.post(keysOf('full'), { plan: 'small' });
    const rotate = () => admin.post(`${keysOf('full')}/${idOf(body)}/rotate`, { overlap: '24h' });
    expect((await rotate()).status).toBe(201);
    expect((await rotate()).status).toBe(409);
    clock.advance(3_600_000);
    expect((await rotate()).status).toBe(409);
    await admin.post('/admin/projects/full', { max_keys: 2 });
    expect((await rotate()).status).toBe(201);
    expect((await rotate()).status).toBe(409);
  });

  test('a paused key whose rotation was denied is rotated once it is resumed, in a project without room too', async () => {
    await admin.post('/admin/projects', { id: 'paused', max_keys: 1 });
    const { body } = await admin.post(keysOf('paused'), { plan: 'small' });
    const change = (name: string) =>
      admin.post(`${keysOf('paused')}/${idOf(body)}/${name}`, {}).then(({ status }) => status);
    expect([await change('pause'), await change('rotate')]).toEqual([200, 409]);
    expect([await change('resume'), await change('rotate')]).toEqual([200, 201]);
  });

  test('of three rotations of a key at the same moment in a project without room one gets a successor', async () => {
    await admin.post('/admin/projects', { id: 'turning', max_keys: 1 });
    const { body } = await admin.post(keysOf('turning'), { plan: 'small' });
    const rotate = (bench: AdminBench) =>
      bench.post(`${keysOf('turning')}/${idOf(body)}/rotate`, { overlap: '24h' });
    const sent = [rotate(admin), rotate(other), rotate(admin)];
    expect(await statusesOf(sent)).toEqual([201, 409, 409]);
    const { body: listed } = await admin.send({ path: keysOf('turning') });
    expect(z.object({ data: z.array(z.unknown()) }).parse(listed).data).toHaveLength(2);
    await admin.post('/admin/projects/turning', { max_keys: 3 });
    expect(await statusesOf([rotate(admin), rotate(other)])).toEqual([201, 201]);
    expect((await rotate(admin)).status).toBe(409);
  });

  test('a project with plans allows keys of these plans only, also after a move', async () => {
    await admin.post('/admin/projects', { id: 'limited', plans: ['small'] });
    const denied = await admin.post(keysOf('limited'), { plan: 'large' });
    expect(denied.status).toBe(400);
    expect(JSON.stringify(denied.body)).toContain("project 'limited' may use only small.");
    const { body } = await admin.post(keysOf('limited'), { plan: 'small' });
    const move = () => admin.post(`${keysOf('limited')}/${idOf(body)}/move`, { plan: 'large' });
    expect((await move()).status).toBe(400);
    await admin.post('/admin/projects/limited', { plans: ['small', 'large'], name: 'Limited' });
    expect((await move()).status).toBe(200);
    const unknown = await admin.post('/admin/projects/limited', { plans: ['none'] });
    expect(unknown.status).toBe(400);
  });
});

describe('a deletion', () => {
  test('a key is not moved to a plan that another operator deletes at the same moment', async () => {
    await admin.post('/admin/plans', { id: 'leaving', ...PLAN });
    await admin.post('/admin/projects', { id: 'moving' });
    const { body } = await admin.post(keysOf('moving'), { plan: 'small' });
    const path = `${keysOf('moving')}/${idOf(body)}`;
    let isDeleted = false;
    const slower = adminOn(
      {
        ...dynamo.client,
        call: async (...call) => {
          if (!isDeleted && JSON.stringify(call).includes('assignedAt')) {
            isDeleted = true;
            expect((await other.post('/admin/plans/leaving/delete', {})).status).toBe(200);
          }
          return dynamo.client.call(...call);
        },
      },
      { clock },
    );
    expect(await slower.post(`${path}/move`, { plan: 'leaving' })).toMatchObject({ status: 400 });
    expect(isDeleted).toBe(true);
    expect((await admin.send({ path })).body).toMatchObject({ plan: 'small' });
  });

  test('a project is deleted without usable keys only, its history stays and its id is not used again', async () => {
    await admin.post('/admin/projects', { id: 'ending' });
    const { body } = await admin.post(keysOf('ending'), { plan: 'small' });
    const remove = () => admin.post('/admin/projects/ending/delete', {});
    expect((await remove()).status).toBe(409);
    clock.advance(61_000);
    const used = await remove();
    expect([used.status, JSON.stringify(used.body)]).toEqual([
      409,
      expect.stringContaining('1 keys'),
    ]);
    await admin.post(`${keysOf('ending')}/${idOf(body)}/revoke`, {});
    expect((await remove()).status).toBe(200);

    const { body: projects } = await admin.send({ path: '/admin/projects' });
    expect(JSON.stringify(projects)).not.toContain('"ending"');
    expect((await admin.post(keysOf('ending'), { plan: 'small' })).status).toBe(409);
    const again = await admin.post('/admin/projects', { id: 'ending' });
    expect([again.status, JSON.stringify(again.body)]).toEqual([
      409,
      expect.stringContaining('was deleted'),
    ]);
    const statement = await admin.send({ path: '/admin/projects/ending/statements/2026-11' });
    expect(statement.status).toBe(200);
  });

  test('a plan is deleted once no usable key has it, and can be created again', async () => {
    await admin.post('/admin/projects', { id: 'planned' });
    await admin.post('/admin/plans', { id: 'brief', ...PLAN });
    const { body } = await admin.post(keysOf('planned'), { plan: 'brief' });
    const remove = () => admin.post('/admin/plans/brief/delete', {});
    expect((await remove()).status).toBe(409);
    await admin.post(`${keysOf('planned')}/${idOf(body)}/revoke`, {});
    expect(JSON.stringify((await remove()).body)).toContain('within the last minute');
    clock.advance(61_000);
    expect(await remove()).toMatchObject({ status: 200, body: { id: 'brief', deleted: true } });
    expect((await remove()).status).toBe(404);
    const { body: plans } = await admin.send({ path: '/admin/plans' });
    expect(JSON.stringify(plans)).not.toContain('"brief"');
    expect((await admin.post('/admin/plans', { id: 'brief', ...PLAN, rpm: 7 })).status).toBe(201);
  });

  test('a key that is created while its project and plan are deleted has both, or is not created', async () => {
    for (let round = 0; round < 6; round += 1) {
      const [project, plan] = [`raced${round}`, `raced${round}`];
      await admin.post('/admin/projects', { id: project });
      await admin.post('/admin/plans', { id: plan, ...PLAN });
      const [key, deletedProject, deletedPlan] = await Promise.all([
        admin.post(keysOf(project), { plan }),
        other.post(`/admin/projects/${project}/delete`, {}),
        other.post(`/admin/plans/${plan}/delete`, {}),
      ]);
      if (key.status === 201) {
        expect([deletedProject.status, deletedPlan.status]).toEqual([409, 409]);
      } else {
        expect([deletedProject.status, deletedPlan.status]).toContain(200);
        const { body } = await admin.send({ path: keysOf(project) });
        expect(body).toMatchObject({ data: [] });
      }
    }
  });
});
