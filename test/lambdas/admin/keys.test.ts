import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { confirmedCaller, createAuthenticate } from '../../../lambdas/keys/authenticate.ts';
import { systemClock } from '../../../lambdas/support/clock.ts';
import { openStores } from '../../../local/local-stores.ts';
import type { LocalRouter } from '../../../local/start.ts';
import { MODEL_ON, post, useRouter, withRouter } from '../../support/local.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { runCli } from '../../support/run-cli.ts';

const START = Date.parse('2026-11-22T10:00:10Z');

type At = Pick<LocalRouter, 'baseUrl'>;

const admin = async ({ baseUrl }: At, path: string, body?: object) => {
  const response = await fetch(`${baseUrl}/admin${path}`, {
    ...(body && {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  });
  return { status: response.status, body: await response.json() };
};

const Key = z.looseObject({
  id: z.string(),
  project: z.string(),
  plan: z.string(),
  start: z.string(),
});
const NewKey = Key.extend({ key: z.string() });
const Page = z.object({ data: z.array(Key), next_cursor: z.string().nullable().optional() });

const PLAN = { rpm: 100, quota: 100, period: 'day' };

/** A key of a new project; plans `wide` and `narrow` exist. */
const newKey = async (at: At, fields: object = {}, project = 'team') => {
  await admin(at, '/projects', { id: project });
  await admin(at, '/plans', { id: 'wide', ...PLAN });
  await admin(at, '/plans', { id: 'narrow', ...PLAN, quota: 3, models: [MODEL_ON.chat] });
  const { status, body } = await admin(at, `/projects/${project}/keys`, {
    plan: 'wide',
    ...fields,
  });
  expect({ status, body }).toMatchObject({ status: 201 });
  const created = NewKey.parse(body);
  return { ...created, path: `/projects/${project}/keys/${created.id}` };
};

const ask = async (router: LocalRouter, key: string, model: string = MODEL_ON.chat) => {
  const body = { model, messages: [{ role: 'user', content: 'say hi' }] };
  const response = await post(router, '/v1/chat/completions', body, { key });
  const { headers, status } = response;
  return { status, headers, text: await response.text() };
};

const modelsOf = async ({ baseUrl }: At, key: string): Promise<string[]> => {
  const response = await fetch(`${baseUrl}/v1/models`, { headers: { 'x-api-key': key } });
  const { data } = z
    .object({ data: z.array(z.object({ id: z.string() })) })
    .parse(await response.json());
  return data.map(({ id }) => id);
};

describe('a change of a key', () => {
  test('a paused key gets a 401 that says so within 15 s, in another process too, until it is resumed', async () => {
    const clock = createManualClock(START);
    const stores = openStores(systemClock);
    await withRouter({ clock, stores }, async (router) => {
      const { key, path } = await newKey(router);
      const authenticate = createAuthenticate({ ...stores.parts, clock });
      const elsewhere = async (sent: Record<string, string>) =>
        confirmedCaller(await authenticate(sent));
      const headers = { authorization: `Bearer ${key}` };
      await elsewhere(headers);
      expect((await ask(router, key)).status).toBe(200);

      expect(await admin(router, `${path}/pause`, {})).toMatchObject({
        body: { status: 'paused' },
      });
      clock.advance(15_000);
      const denied = await ask(router, key);
      expect(denied.status).toBe(401);
      expect(denied.text).toContain('paused');
      expect(denied.headers.get('x-should-retry')).toBe('false');
      await expect(elsewhere(headers)).rejects.toThrow('paused');
      expect(await admin(router, `${path}/rotate`, {})).toMatchObject({ status: 409 });

      expect((await admin(router, `${path}/resume`, {})).status).toBe(200);
      clock.advance(15_000);
      expect((await ask(router, key)).status).toBe(200);
      await elsewhere(headers);
    });
  });

  test('a key that is moved to another plan keeps its counts and gets the limits of the plan within 15 s', async () => {
    const clock = createManualClock(START);
    await withRouter({ clock }, async (router) => {
      const { key, path } = await newKey(router);
      for (const _ of [1, 2, 3]) expect((await ask(router, key)).status).toBe(200);
      const moved = await admin(router, `${path}/move`, { plan: 'narrow' });
      expect(moved).toMatchObject({ status: 200, body: { plan: 'narrow' } });
      clock.advance(15_000);
      const denied = await ask(router, key);
      expect([denied.status, denied.headers.get('x-quota-limit')]).toEqual([402, '3']);
      expect(await modelsOf(router, key)).toEqual([MODEL_ON.chat]);
      await admin(router, `${path}/move`, { plan: 'wide' });
      clock.advance(15_000);
      const allowed = await ask(router, key);
      expect([allowed.status, allowed.headers.get('x-quota-remaining')]).toEqual([200, '96']);
      expect(await admin(router, `${path}/move`, { plan: 'none' })).toMatchObject({ status: 400 });
    });
  });

  test('limits of a key below its plan are enforced exactly, shown to its caller and kept by a rotation', async () => {
    const clock = createManualClock(START);
    await withRouter({ clock }, async (router) => {
      const limits = { rpm: 2, quota: 5, models: [MODEL_ON.chat] };
      const { key, path } = await newKey(router, limits);
      expect((await admin(router, path)).body).toMatchObject(limits);
      expect(await modelsOf(router, key)).toEqual([MODEL_ON.chat]);
      expect((await ask(router, key, MODEL_ON.messages)).status).toBe(400);
      const statuses = await Promise.all(
        [1, 2, 3, 4, 5, 6].map(async () => (await ask(router, key)).status),
      );
      expect(statuses.toSorted()).toEqual([200, 200, 429, 429, 429, 429]);

      const { body } = await admin(router, `${path}/rotate`, { overlap: 'none' });
      const successor = NewKey.parse(body);
      expect(successor).toMatchObject(limits);
      clock.advance(60_000);
      const { status, headers } = await ask(router, successor.key);
      expect([status, headers.get('x-ratelimit-limit-requests')]).toEqual([200, '2']);
      expect(headers.get('x-quota-remaining')).toBe('2');

      const next = `/projects/team/keys/${successor.id}`;
      await admin(router, next, { rpm: null, models: null, quota: 4 });
      clock.advance(60_000);
      const raised = await ask(router, successor.key, MODEL_ON.messages);
      expect([raised.status, raised.headers.get('x-ratelimit-limit-requests')]).toEqual([
        200,
        '100',
      ]);
      expect((await ask(router, successor.key)).status).toBe(402);
      const usage = await admin(router, '/projects/team/usage');
      expect(usage.body).toMatchObject({
        data: expect.arrayContaining([
          expect.objectContaining({ id: successor.id, quota: 4, rpm: 100, used: 4 }),
        ]),
      });
    });
  });
});

describe('the admin API', () => {
  const router = useRouter();

  test('a limit of a key above its plan, or of a model outside it, is a 400 that names the field', async () => {
    const { path } = await newKey(router());
    await admin(router(), `${path}/move`, { plan: 'narrow' });
    for (const [change, message] of [
      [{ rpm: 101 }, "rpm: must be at most 100, the limit of plan 'narrow'."],
      [{ quota: 4 }, "quota: must be at most 3, the limit of plan 'narrow'."],
      [
        { models: [MODEL_ON.messages] },
        `models: plan 'narrow' does not allow ${MODEL_ON.messages}.`,
      ],
      [{ models: ['no/such'] }, 'models: unknown model no/such.'],
      [{}, 'must have a field to change'],
    ] as const) {
      const { status, body } = await admin(router(), path, change);
      expect(status).toBe(400);
      expect(JSON.stringify(body)).toContain(message);
    }
  });

  test('a key is renamed, and found by its name, id, first characters and SHA-256', async () => {
    const { id, key, path, start } = await newKey(router(), { name: 'first' }, 'searched');
    await newKey(router(), { name: 'other' }, 'searched');
    await admin(router(), path, { name: 'Nightly Evals' });
    for (const q of ['nightly', 'EVALS', id.slice(4, 16), start]) {
      const { body } = await admin(router(), `/projects/searched/keys?q=${q}`);
      expect(Page.parse(body).data.map((found) => found.id)).toEqual([id]);
    }
    const none = await admin(router(), '/projects/searched/keys?q=undefined');
    expect(Page.parse(none.body).data).toEqual([]);

    const sha256 = createHash('sha256').update(key).digest('hex');
    for (const sought of [{ sha256 }, { start }, { id }]) {
      const { body } = await admin(router(), '/keys/find', sought);
      expect(body).toMatchObject({ data: [{ id, project: 'searched' }] });
    }
    expect(await admin(router(), '/keys/find', { sha256: '0'.repeat(64) })).toMatchObject({
      status: 404,
    });
    expect(await admin(router(), '/keys/find', { sha256, start })).toMatchObject({ status: 400 });
  });

  test('a list of 25 keys in pages of 10 has each key once, also while keys are revoked', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 25; index += 1) {
      ids.push((await newKey(router(), { name: `key ${index}` }, 'paged')).id);
    }
    const seen: string[] = [];
    let cursor = '';
    for (let page = 0; page < 3; page += 1) {
      const { body } = await admin(router(), `/projects/paged/keys?limit=10${cursor}`);
      const { data, next_cursor: next } = Page.parse(body);
      seen.push(...data.map(({ id }) => id));
      cursor = `&cursor=${next}`;
      expect(next === null).toBe(page === 2);
      await admin(router(), `/projects/paged/keys/${data[0]?.id}/revoke`, {});
    }
    expect(seen).toEqual(ids.toSorted());
    const { body } = await admin(router(), '/projects/paged/keys?status=revoked');
    expect(Page.parse(body).data).toHaveLength(3);
  });

  test('a revoked key cannot be changed, and a key of another project is not found', async () => {
    const { path, id } = await newKey(router());
    await newKey(router(), {}, 'strangers');
    await admin(router(), `${path}/revoke`, {});
    for (const verb of ['/pause', '/resume']) {
      expect(await admin(router(), `${path}${verb}`, {})).toMatchObject({ status: 409 });
      const foreign = `/projects/strangers/keys/${id}${verb}`;
      expect(await admin(router(), foreign, {})).toMatchObject({ status: 404 });
    }
    expect((await admin(router(), path)).body).toMatchObject({ status: 'revoked' });
  });

  test('the commands keys set, move, pause, resume and find change and find the key', async () => {
    const { id, key } = await newKey(router(), {}, 'commanded');
    const cli = (...args: string[]) => runCli([...args, '--json', '--url', router().baseUrl]);
    const of = [id, '--project', 'commanded'];
    const commands = [
      ['keys', 'set', ...of, '--name', 'batch', '--rpm', '5', '--model', MODEL_ON.chat],
      ['keys', 'move', ...of, '--plan', 'narrow'],
      ['keys', 'pause', ...of, '--yes'],
      ['keys', 'find', key],
    ];
    const ended = await Promise.all(commands.slice(0, 1).map((args) => cli(...args)));
    for (const args of commands.slice(1)) ended.push(await cli(...args));
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(JSON.parse(ended.at(-1)?.out ?? '')).toMatchObject({
      data: [
        { id, name: 'batch', rpm: 5, plan: 'narrow', status: 'paused', models: [MODEL_ON.chat] },
      ],
    });
  });
});
