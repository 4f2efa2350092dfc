import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import type { DynamoClient, Item } from '../../../lambdas/stores/dynamo/dynamo-client.ts';
import { type AdminBench, adminOn } from '../../support/admin-bench.ts';
import { startDynamo, storesOn, TABLE_NAMES, type TestDynamo } from '../../support/dynamo.ts';

const LAG_MS = 600;

/** A client whose index of keys is behind the table, as DynamoDB's may be. */
const lagging = (client: DynamoClient): DynamoClient => {
  const writes: { hash: unknown; before: Item | undefined; at: number }[] = [];
  const asIndexed = (item: Item): Item[] => {
    const since = Date.now() - LAG_MS;
    const unseen = writes.find(({ hash, at }) => hash === item.pk && at > since);
    if (!unseen) return [item];
    return unseen.before ? [unseen.before] : [];
  };
  const call = async (operation: string, input: Parameters<DynamoClient['call']>[1]) => {
    const asked = input as { TableName: string; Key: Item; index?: unknown };
    if (operation === 'UpdateItem' && asked.TableName === TABLE_NAMES.keys) {
      const read = { TableName: asked.TableName, Key: asked.Key, ConsistentRead: true };
      const { Item: before } = await client.call('GetItem', read);
      writes.push({ hash: asked.Key.pk, before, at: Date.now() });
    }
    const output = await client.call(operation as 'Query', input as never);
    return asked.index ? { ...output, Items: output.Items?.flatMap(asIndexed) } : output;
  };
  return { ...client, call: call as DynamoClient['call'] };
};

let dynamo: TestDynamo;
let admin: AdminBench;
beforeAll(async () => {
  dynamo = await startDynamo();
  admin = adminOn(lagging(dynamo.client));
  await admin.post('/admin/plans', { id: 'plan', rpm: 1, quota: 10, period: 'day' });
});
afterAll(() => dynamo.close());

const createKey = async (project: string) => {
  const { body } = await admin.post(`/admin/projects/${project}/keys`, { plan: 'plan' });
  return z.object({ id: z.string() }).parse(body).id;
};
const listed = () => new Promise((resolve) => setTimeout(resolve, LAG_MS + 50));
const budgetsOf = async (project: string) =>
  (await storesOn(dynamo.client).keys.listKeys(project)).map(({ budgets }) => budgets);
const setBudget = async (path: string, body: object = { max_usd: 5, period: 'day' }) =>
  expect((await admin.post(`/admin${path}/budget`, body)).status).toBe(200);

test('a budget that is set right after a key was created has the key', async () => {
  await admin.post('/admin/projects', { id: 'new' });
  await createKey('new');
  await setBudget('/projects/new');
  expect(await budgetsOf('new')).toEqual([['project/day']]);
});

test('a key gets a budget right after its creation', async () => {
  await admin.post('/admin/projects', { id: 'own' });
  await setBudget(`/projects/own/keys/${await createKey('own')}`);
  expect(await budgetsOf('own')).toEqual([['key/day']]);
});

test('a budget that is set while keys are created has all of them', async () => {
  await admin.post('/admin/projects', { id: 'during' });
  const creating = Array.from({ length: 8 }, () => createKey('during'));
  await Promise.all([
    ...creating,
    setBudget('/projects/during'),
    setBudget('/projects/during/users'),
  ]);
  const own = await budgetsOf('during');
  expect(own).toEqual(Array(8).fill(['project/day', 'user/day/5000000000']));
});

test('the successor of a key has the budget that was set right before, and the models', async () => {
  await admin.post('/admin/projects', { id: 'rotated' });
  const id = await createKey('rotated');
  await listed();
  const path = `/admin/projects/rotated/keys/${id}`;
  await admin.post(path, { rpm: 1, quota: 7 });
  await setBudget('/projects/rotated');
  expect((await admin.post(`${path}/rotate`, { overlap: '24h' })).status).toBe(201);
  expect(await budgetsOf('rotated')).toEqual([['project/day'], ['project/day']]);
  const { keys } = storesOn(dynamo.client);
  expect((await keys.listKeys('rotated')).map(({ quota }) => quota)).toEqual([7, 7]);
});

test('a budget that is deleted and set again at once has its keys', async () => {
  await admin.post('/admin/projects', { id: 'again' });
  await createKey('again');
  await listed();
  await setBudget('/projects/again');
  await listed();
  await admin.post('/admin/projects/again/budget/delete', {});
  await setBudget('/projects/again');
  expect(await budgetsOf('again')).toEqual([['project/day']]);
});
