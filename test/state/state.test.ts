import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { keyOf } from '../../lambdas/state/stored.ts';
import type { ResponseStore } from '../../lambdas/stores/response-store.ts';
import { StoreUnavailable } from '../../lambdas/stores/store-unavailable.ts';
import { DAY_MS, systemClock } from '../../lambdas/support/clock.ts';
import { openStores } from '../../local/local-stores.ts';
import { startHeldUpstream } from '../replay/held-upstream.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { type FleetOptions, startFleet } from '../support/fleet.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { passUntil } from '../support/pass-until.ts';
import { heldIn, scanTables } from '../support/scan-tables.ts';
import { checksAll } from '../support/seeds.ts';
import { send } from '../support/send.ts';
import { readSse } from '../support/sse-text.ts';
import { tableCallsOf } from '../support/table-calls.ts';

type Json = Record<string, unknown>;

/** All that is in base64 and compressed in a text, as text. */
const unpacked = (text: string): string =>
  [...text.matchAll(/H4sI[\w+/=]+/g)]
    .map(([packed]) => gunzipSync(Buffer.from(packed, 'base64')).toString())
    .join('\n');

/** Two routers on the same tables, whose plan allows the state, and a provider that answers when the test says so. */
const start = async (
  mode: 'off' | 'asked' | 'default' = 'default',
  options: Partial<FleetOptions> = {},
) => {
  const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
  const upstream = await startHeldUpstream();
  const models = [modelOn([targetAt(upstream.url)])];
  const fleet = await startFleet({ models, clock, size: 2, onDynamo: true, ...options });
  onTestFinished(async () => {
    await fleet.close();
    await upstream.close();
  });
  const plan = { rpm: 1_000_000, quota: 1_000_000, period: 'month' } as const;
  await fleet.stores.plans.putPlan({ id: 'fleet', ...plan, state: mode });
  const call = async (
    method: string,
    path: string,
    { body, key = fleet.key, router = 0, headers = {} }: CallOptions = {},
  ) => {
    const sent = await send(fleet.urls[router] ?? '', path, {
      method,
      headers: { 'x-api-key': key, ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const json = sent.text.startsWith('{') ? (JSON.parse(sent.text) as Json) : {};
    return { ...sent, json };
  };
  const create = (fields: Json = {}, options: CallOptions = {}) =>
    call('POST', '/v1/responses', {
      ...options,
      body: { model: 'vendor/model', input: 'hi', ...fields },
    });
  const get = (id: unknown, options: CallOptions = {}) =>
    call('GET', `/v1/responses/${id}`, options);
  const remove = (id: unknown, options: CallOptions = {}) =>
    call('DELETE', `/v1/responses/${id}`, options);
  return { clock, upstream, fleet, call, create, get, remove };
};
type CallOptions = { body?: Json; key?: string; router?: number; headers?: Record<string, string> };

const errorOf = ({ json }: { json: Json }) => json.error as Json;

describe('stored responses', () => {
  test('another process reads, continues and deletes a response', async () => {
    const { create, get, remove } = await start();
    const { json: first } = await create();
    expect((await get(first.id, { router: 1 })).json).toEqual(first);
    const next = await create({ previous_response_id: first.id }, { router: 1 });
    expect(next.json).toMatchObject({ status: 'completed', previous_response_id: first.id });
    expect((await remove(first.id, { router: 1 })).json).toEqual({
      ...{ id: first.id, object: 'response', deleted: true },
    });
    expect((await get(first.id)).status).toBe(404);
    expect((await remove(first.id)).status).toBe(404);
    expect(errorOf(await create({ previous_response_id: next.json.id }))).toMatchObject({
      code: 'previous_response_not_found',
    });
  });

  test('another project gets the words and the calls of an unknown id, whichever it asks for', async () => {
    const { create, call, fleet } = await start();
    const { json } = await create();
    const own = String(json.id);
    const unknown = `resp_${'0'.repeat(24)}`;
    const key = fleet.otherKey;
    /** What is said of an id, which is masked, and what is asked of the tables for it. */
    const seen = async (ask: (id: string) => ReturnType<typeof call>, id: string) => {
      let said = { status: 0, text: '' };
      const calls = await tableCallsOf(async () => {
        said = await ask(id);
      });
      return { status: said.status, text: said.text.replaceAll(id, 'ID'), calls };
    };
    const asked = ([method = '', tail = '']: string[]) => ({
      status: 404,
      ask: (id: string) => call(method, `/v1/responses/${id}${tail}`, { key }),
    });
    for (const { status, ask } of [
      ...[['GET'], ['DELETE'], ['GET', '/input_items'], ['POST', '/cancel']].map(asked),
      { status: 400, ask: (id: string) => create({ previous_response_id: id }, { key }) },
    ]) {
      // The key and its plan are kept from here on.
      await ask(unknown);
      const missing = await seen(ask, unknown);
      expect(missing).toMatchObject({
        status,
        calls: expect.arrayContaining([expect.any(String)]),
      });
      expect(await seen(ask, own)).toEqual(missing);
    }
    const previous = await create({ previous_response_id: own }, { key });
    expect(errorOf(previous)).toMatchObject({ code: 'previous_response_not_found' });
    const reference = { type: 'item_reference', id: `msg_${own.slice(5)}0` };
    expect((await create({ input: [reference] }, { key })).status).toBe(404);
    expect((await create({ input: [reference] })).status).toBe(200);
  });

  test('a response expires after 30 days', async () => {
    const { create, get, clock } = await start();
    const { json } = await create();
    clock.advance(30 * DAY_MS - 1);
    expect((await get(json.id)).status).toBe(200);
    clock.advance(1);
    expect((await get(json.id)).status).toBe(404);
    const next = await create({ previous_response_id: json.id });
    expect([next.status, errorOf(next).code]).toEqual([400, 'previous_response_not_found']);
  });

  test('no table holds a part of a response that was deleted, nor of its stream', async () => {
    const { create, remove, fleet, upstream, clock } = await start();
    upstream.state.filler = 'canary-of-the-response';
    const stored = await create({ input: 'canary-of-the-request', store: true });
    const running = create({ input: 'canary-of-the-request', background: true, stream: true });
    const { text } = await running;
    const [, id] = /"id":"(resp_\w+)"/.exec(text) ?? [];
    const canaries = async () => {
      const tables = await scanTables(fleet.tablesUrl());
      return heldIn({ ...tables, answers: unpacked(tables.answers ?? '') }, [
        'canary-of-the-request',
        'canary-of-the-response',
      ]);
    };
    expect(await canaries()).toHaveLength(2);
    expect((await remove(stored.json.id)).status).toBe(200);
    expect((await remove(id)).status).toBe(200);
    clock.advance(60_000);
    expect(await canaries()).toEqual([]);
  });

  test('a conversation of 1,000 responses is continued once more, and not again', async () => {
    const { create, fleet } = await start();
    let previous: unknown;
    const { json: root } = await create();
    previous = root.id;
    // What 999 requests would store, without sending them.
    const store = await fleet.stores.openResponses?.();
    const key = keyOf('project', String(root.id));
    const found = await store?.find(key, Date.UTC(2026, 10, 21, 12));
    if (!store || !found) throw new Error('The response is not stored.');
    const before: string[] = [String(root.id)];
    for (let turn = 1; turn < 1_000; turn += 1) {
      const id = `resp_${String(turn).padStart(24, '0')}`;
      await store.create(
        { key: keyOf('project', id), expiresAt: Date.UTC(2026, 11, 1) },
        // Only the last one's is read.
        { ...found, before: checksAll || turn === 999 ? [...before] : [] },
      );
      before.push(id);
      previous = id;
    }
    const last = await create({ previous_response_id: previous });
    expect(last.status).toBe(200);
    const beyond = await create({ previous_response_id: last.json.id });
    expect([beyond.status, String(errorOf(beyond).message)]).toEqual([
      ...[400, expect.stringContaining('1000 responses')],
    ]);
  });

  test('a key whose plan stores nothing gets a 400 with what to do, and its requests make no call of the table', async () => {
    const { create, get, remove, fleet } = await start('off');
    const { json } = await create();
    expect(json).toMatchObject({ status: 'completed', store: false });
    for (const refused of [
      await create({ store: true }),
      await create({ previous_response_id: json.id }),
      await create({ background: true }),
      await create({ input: [{ type: 'item_reference', id: 'msg_1' }] }),
      await get(json.id),
      await remove(json.id),
    ]) {
      expect(refused.status).toBe(400);
      expect(String(errorOf(refused).message)).toMatch(/plan/);
    }
    expect((await scanTables(fleet.tablesUrl())).answers).toBe('[]');
  });

  test('a request whose wish for state is of another type is a 400, not a response without it', async () => {
    const { create, call, upstream } = await start();
    const { json: first } = await create();
    for (const [fields, message] of [
      [{ previous_response_id: { id: first.id } }, 'previous_response_id: must be a string.'],
      [{ background: 'true' }, 'background: must be a boolean.'],
      [{ store: 1 }, 'store: must be a boolean.'],
    ] as const) {
      const [param] = Object.keys(fields);
      const asked = await create(fields);
      expect({ status: asked.status, ...errorOf(asked) }).toMatchObject({
        ...{ status: 400, message, param },
      });
      const body = { model: 'vendor/model', input: 'hi', ...fields };
      const counted = await call('POST', '/v1/responses/input_tokens', { body });
      expect(errorOf(counted)).toMatchObject({ message });
    }
    const nulls = { previous_response_id: null, background: null, store: null };
    expect((await create(nulls)).status).toBe(200);
    expect(upstream.calls).toHaveLength(2);
  });

  test('a plan that stores what is asked for stores nothing of a request without "store": true', async () => {
    const { create, fleet } = await start('asked');
    expect((await create()).json.store).toBe(false);
    expect((await create({ store: false })).json.store).toBe(false);
    expect((await scanTables(fleet.tablesUrl())).answers).toBe('[]');
    expect((await create({ store: true })).json.store).toBe(true);
  });
});

/** A store of which every call fails. */
const broken = (): ResponseStore => {
  const fail = async () => {
    throw new StoreUnavailable('canary');
  };
  return {
    ...{ create: fail, find: fail, renew: fail, end: fail },
    ...{ putPiece: fail, findPiece: fail, remove: fail },
  };
};

test('a store that fails costs no response: it is sent, states that it is not stored, and all else is a 503', async () => {
  const { create, get, remove, fleet } = await start('default', { openResponses: broken });
  expect((await create()).json).toMatchObject({ status: 'completed', store: false });
  const streamed = await create({ stream: true });
  const ends = streamed.text.split('\n').filter((line) => line.includes('"response.completed"'));
  expect(ends.at(-1)).toContain('"store":false');
  const id = `resp_${'0'.repeat(24)}`;
  for (const refused of [
    await create({ previous_response_id: id }),
    await create({ background: true }),
    await get(id),
    await remove(id),
  ]) {
    expect(refused.status).toBe(503);
    expect(refused.text).not.toContain('canary');
  }
  expect(await fleet.charged()).toBe(2);
});

test('a conversation over 5.5 MB with what is stored of it gets 413, and its provider is not called', async () => {
  const { create, call, upstream, fleet } = await start('default', { onDynamo: false });
  const large = 'word '.repeat(600_000);
  const { json: first } = await create({ input: large });
  const next = { previous_response_id: first.id, input: large };
  const counted = { model: 'vendor/model', ...next };
  for (const refused of [
    await create(next),
    await call('POST', '/v1/responses/input_tokens', { body: counted }),
  ]) {
    expect(refused.status).toBe(413);
    expect(errorOf(refused).message).toMatch(/conversation is larger than 5\.5 MB/);
  }
  expect([upstream.calls.length, await fleet.charged()]).toEqual([1, 1]);
});

describe('background responses', () => {
  /** An invocation whose provider has been called, and which ends when the platform says so. */
  const invoke = async (remainingMs?: number) => {
    const { upstream, fleet, ...started } = await start();
    upstream.state.isQuick = false;
    const stream = new PassThrough();
    const body = JSON.stringify({ model: 'vendor/model', input: 'hi', background: true });
    const headers = { 'x-api-key': fleet.key, 'content-type': 'application/json' };
    const request = { method: 'POST', path: '/v1/responses', query: {}, headers, source: '', body };
    const context = remainingMs ? { getRemainingTimeInMillis: () => remainingMs } : {};
    let hasEnded = false;
    const invocation = Promise.resolve(fleet.handlers[0]?.(request, stream, context)).then(() => {
      hasEnded = true;
    });
    const queued = JSON.parse(await text(stream)) as Json;
    expect(queued).toMatchObject({ status: 'queued' });
    await expect.poll(() => upstream.calls.length).toBe(1);
    expect(hasEnded).toBe(false);
    return { ...started, upstream, fleet, invocation, id: queued.id };
  };

  test('an invocation lasts until its background response has ended', async () => {
    const { upstream, fleet, invocation } = await invoke();
    upstream.calls[0]?.finish();
    await invocation;
    expect(await fleet.charged()).toBe(1);
  });

  test("a response that the platform's deadline ends without a word of the model is failed, with the reason, and free", async () => {
    const { get, fleet, clock, upstream, invocation, id } = await invoke(15_000);
    await passUntil(clock, invocation);
    const { json } = await get(id, { router: 1 });
    expect(json).toMatchObject({
      status: 'failed',
      error: { message: 'The model did not answer in time.' },
    });
    expect(upstream.calls[0]?.isClosed()).toBe(true);
    expect(await fleet.charged()).toBe(0);
  });

  test("a response that the platform's deadline ends amid its words keeps them, is incomplete, and costs a unit", async () => {
    const { get, fleet, clock, upstream, invocation, id } = await invoke(15_000);
    upstream.calls[0]?.begin();
    await expect.poll(async () => (await get(id)).json.status).toBe('in_progress');
    await passUntil(clock, invocation);
    const { json } = await get(id, { router: 1 });
    expect(json).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    });
    expect(JSON.stringify(json.output)).toContain('Answer 1:');
    expect(await fleet.charged()).toBe(1);
  });

  test('a response whose client disconnected is finished, and read from another process', async () => {
    const { create, get, upstream, fleet, clock } = await start();
    upstream.state.isQuick = false;
    const queued = await create({ background: true });
    expect(queued.json).toMatchObject({ status: 'queued', output: [] });
    await expect.poll(() => upstream.calls.length).toBe(1);
    await expect
      .poll(async () => (await get(queued.json.id, { router: 1 })).json.status)
      .toBe('in_progress');
    clock.advance(20_000);
    upstream.calls[0]?.finish();
    await expect
      .poll(async () => (await get(queued.json.id, { router: 1 })).json.status)
      .toBe('completed');
    expect(await fleet.charged()).toBe(1);
  });

  test('a failure of the provider is the failure of the response, and free', async () => {
    const { create, get, upstream, fleet } = await start();
    upstream.state.refusesNext = 9;
    const queued = await create({ background: true });
    await expect
      .poll(async () => (await get(queued.json.id)).json)
      .toMatchObject({
        ...{ status: 'failed', error: { code: 'server_error', message: expect.any(String) } },
      });
    expect(await fleet.charged()).toBe(0);
  });

  test('a response is cancelled from another process, for one unit, and its provider is hung up', async () => {
    const { create, get, call, upstream, fleet, clock } = await start();
    upstream.state.isQuick = false;
    const { json } = await create({ background: true });
    await expect.poll(() => upstream.calls.length).toBe(1);
    upstream.calls[0]?.begin();
    await expect.poll(async () => (await get(json.id)).json.status).toBe('in_progress');
    const cancelled = call('POST', `/v1/responses/${json.id}/cancel`, { router: 1 });
    expect((await passUntil(clock, cancelled)).json).toMatchObject({ status: 'cancelled' });
    await expect.poll(() => upstream.calls[0]?.isClosed()).toBe(true);
    expect((await get(json.id)).json.status).toBe('cancelled');
    await expect.poll(() => fleet.charged()).toBe(1);
  });

  test('a request that is denied gets its status at once, and no response', async () => {
    const { create, fleet } = await start();
    const plan = { rpm: 1_000_000, quota: 0, period: 'month', state: 'default' } as const;
    await fleet.stores.plans.putPlan({ id: 'fleet', ...plan });
    expect((await create({ background: true })).status).toBe(402);
    expect((await create({ background: true, model: 'vendor/unknown' })).status).toBe(400);
    expect((await create({ background: true, temperature: 9 })).status).toBe(400);
    expect((await create({ background: true, store: false })).status).toBe(400);
    const keyed = await create({ background: true }, { headers: { 'idempotency-key': 'a' } });
    expect(keyed.status).toBe(400);
  });

  test('the stream of a response whose last events could not be stored ends with the response as it is stored', async () => {
    const own = openStores(systemClock).parts.openResponses;
    const openResponses = (): ResponseStore => {
      const store = own?.();
      if (!store) throw new Error('The stores keep no responses.');
      const putPiece = async () => {
        throw new StoreUnavailable('canary');
      };
      return { ...store, putPiece };
    };
    const { create, get, clock } = await start('default', { openResponses, size: 1 });
    const created = create({ background: true, stream: true });
    const [, id] = /"id":"(resp_\w+)"/.exec((await passUntil(clock, created)).text) ?? [];
    await expect.poll(async () => (await get(id)).json.status).toBe('completed');
    const { text: followed } = await get(`${id}?stream=true&starting_after=3`);
    const events = readSse(followed).map(({ data }) => JSON.parse(data) as Json);
    expect(events).toEqual([
      { type: 'response.completed', response: (await get(id)).json, sequence_number: 4 },
    ]);
  });
});
