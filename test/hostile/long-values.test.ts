import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AdminBench, adminOn } from '../support/admin-bench.ts';
import { startDynamo, type TestDynamo } from '../support/dynamo.ts';
import type { Fleet } from '../support/fleet.ts';
import { send } from '../support/send.ts';
import { startInstantFleet } from './instant-fleet.ts';

/** Above what DynamoDB accepts as a key, in characters and in bytes. */
const LONG_IDS = ['x'.repeat(3_000), encodeURIComponent('é'.repeat(1_500))];

describe('an id that DynamoDB rejects as a key', () => {
  let dynamo: TestDynamo;
  let admin: AdminBench;
  beforeAll(async () => {
    dynamo = await startDynamo();
    admin = adminOn(dynamo.client);
    await admin.post('/admin/projects', { id: 'acme' });
  });
  afterAll(() => dynamo.close());

  const ask = ([path, body]: readonly [string, object?]) =>
    body ? admin.post(`/admin${path}`, body) : admin.send({ path: `/admin${path}` });

  test.each(LONG_IDS)('in a path of the admin API is a 404', async (id) => {
    const paths = [
      [`/projects/${id}`, { name: 'x' }],
      [`/projects/${id}/delete`, {}],
      [`/projects/${id}/keys`],
      [`/projects/${id}/keys`, { plan: 'free' }],
      [`/projects/${id}/usage`],
      [`/projects/${id}/statements/2026-10`],
      [`/projects/acme/keys/${id}`],
      [`/projects/acme/keys/${id}/rotate`, {}],
      [`/plans/${id}`, { rpm: 1 }],
      [`/plans/${id}/delete`, {}],
      [`/requests/${id}`],
    ] as const;
    const statuses = (await Promise.all(paths.map(ask))).map(({ status }) => status);
    expect(statuses).toEqual(paths.map(() => 404));
  });

  test.each(LONG_IDS)('in a query of the admin API is a 400', async (id) => {
    const paths = [
      [`/usage?project=${id}`],
      [`/requests?project=${id}`],
      [`/audit?project=${id}`],
      [`/history/reconcile?project=${id}`, {}],
    ] as const;
    const statuses = (await Promise.all(paths.map(ask))).map(({ status }) => status);
    expect(statuses).toEqual(paths.map(() => 400));
  });
});

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startInstantFleet();
});
afterAll(() => fleet.close());

const LONG = 'y'.repeat(4_000_000);
const turn = (content: unknown) => ({ messages: [{ role: 'user', content }] });
const CALL = { id: LONG, type: 'function', function: { name: 'f', arguments: '{}' } };

describe('a value of 4 MB', () => {
  test.each<[what: string, path: string, change: object, begins: string]>([
    [
      'as the type of a part',
      '/v1/chat/completions',
      turn([{ type: LONG }]),
      "The model 'vendor/model' does not support 'y",
    ],
    [
      'as the id of a tool call',
      '/v1/chat/completions',
      { messages: [{ role: 'assistant', content: null, tool_calls: [CALL] }] },
      "messages: the tool call 'y",
    ],
    [
      'as the id of a tool result',
      '/v1/messages',
      { ...turn([{ type: 'tool_result', tool_use_id: LONG }]), max_tokens: 10 },
      "messages: the result for tool call 'y",
    ],
    [
      'as the type of an item',
      '/v1/responses',
      { input: [{ type: LONG }] },
      "The model 'vendor/model' does not support 'y",
    ],
    [
      'as the tool of a choice',
      '/v1/responses',
      { input: 'x', tool_choice: { type: 'function', name: LONG } },
      "tool_choice: there is no tool 'y",
    ],
    [
      'as the name of a field in strict mode',
      '/v1/chat/completions',
      { ...turn('x'), [LONG]: 1 },
      "x-router-strict: no provider of the model 'vendor/model' accepts",
    ],
  ])('%s is shortened in its 400', async (_, path, change, begins) => {
    const { status, text } = await send(fleet.urls[0] ?? '', path, {
      method: 'POST',
      headers: { 'x-api-key': fleet.key, 'x-router-strict': '1' },
      body: JSON.stringify({ model: 'vendor/model', ...change }),
    });
    expect([status, JSON.parse(text).error.message.slice(0, begins.length)]).toEqual([400, begins]);
    expect(text.length).toBeLessThan(9_000);
  });
});

describe('the limit of 256 tools', () => {
  const named = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({ type: 'function', name: `${prefix}${index}` }));
  const space = { type: 'namespace', name: 'space', tools: named('s', 128) };

  test.each([
    ['128 of a namespace and 128 others are accepted', 128, 200],
    ['128 of a namespace and 129 others are a 400', 129, 400],
  ])('%s', async (_, others, status) => {
    const body = { model: 'vendor/model', input: 'x', tools: [space, ...named('t', others)] };
    const sent = await send(fleet.urls[0] ?? '', '/v1/responses', {
      method: 'POST',
      headers: { 'x-api-key': fleet.key },
      body: JSON.stringify(body),
    });
    expect(sent.status).toBe(status);
    if (status === 400) expect(JSON.parse(sent.text).error.param).toBe('tools');
  });
});
