import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { modelOn, targetAt } from '../support/models.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { start, startBuilt, untilReady } from './local-process.ts';

const root = temporaryFolder('data');

type Router = { baseUrl: string; key: string };

const post = ({ baseUrl, key }: Router, body: object, headers: Record<string, string> = {}) =>
  fetch(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'aurora/scribe-1', ...body }),
  });

const get = async ({ baseUrl, key }: Router, path: string) => {
  const response = await fetch(`${baseUrl}${path}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  return { status: response.status, body: await response.json() };
};

const Window = z.looseObject({ limit: z.int(), resets_at: z.string() });
const Usage = z.looseObject({ minute: Window, period: Window });

/** What a window is once `later` was read: a restart may last until the next one, which has had no request yet. */
const windowAt = (later: z.infer<typeof Window>, earlier: z.infer<typeof Window>) => {
  const { resets_at, limit } = later;
  return resets_at === earlier.resets_at
    ? earlier
    : { ...earlier, used: 0, remaining: limit, resets_at };
};

/** The minute may end at any restart, the month with a test in its last seconds. */
const atTimeOf = (later: unknown, earlier: unknown) => {
  const [now, usage] = [Usage.parse(later), Usage.parse(earlier)];
  const { minute, period } = usage;
  return {
    ...usage,
    minute: windowAt(now.minute, minute),
    period: windowAt(now.period, period),
  };
};

/** Starts a router on a folder; `kill` ends it without a chance to write. */
const startOn = async (folder: string) => {
  const child = startBuilt(['--json', '--delay', '0', '--data', folder]);
  const { baseUrl, key } = await untilReady(child);
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await once(child, 'exit');
  };
  return { baseUrl, key, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') };
};

describe('data that lasts', () => {
  test('a router names at its start the plans that require a label of no target', async () => {
    const folder = join(root, 'labels');
    const labelled = join(root, 'labelled.json');
    writeFileSync(
      labelled,
      JSON.stringify([{ ...modelOn([targetAt('https://eu.example.com/v1', { region: 'eu' })]) }]),
    );
    const startWith = async (...args: string[]) => {
      const child = startBuilt(['--json', '--data', folder, ...args]);
      const errors = text(child.stderr);
      const { baseUrl } = await untilReady(child);
      return {
        baseUrl,
        end: async () => {
          child.kill('SIGTERM');
          return errors;
        },
      };
    };
    const secrets = join(root, 'secrets.json');
    writeFileSync(secrets, '{"secret":"credential"}');
    const first = await startWith('--catalog', labelled, '--secrets', secrets);
    const plan = { id: 'eu', rpm: 1, quota: 1, period: 'day', require: { region: ['eu'] } };
    const created = await fetch(`${first.baseUrl}/admin/plans`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(plan),
    });
    expect([created.status, await first.end()]).toEqual([
      201,
      expect.not.stringContaining('label'),
    ]);
    const second = await startWith();
    expect(await second.end()).toContain('plan eu requires labels that no target has: region eu\n');
  });

  test('a router with --data keeps key, plan, counters, records and kept responses over kill -9, and prints the key once', async () => {
    const folder = join(root, 'kept');
    const first = await startOn(folder);
    const turns = { messages: [{ role: 'user', content: 'say what was said' }] };
    const large = { messages: [{ role: 'user', content: `say ${first.key.repeat(20_000)}` }] };
    const retried = { 'idempotency-key': 'the-same' };
    const answer = await post(first, turns, retried);
    const said = await answer.text();
    const saidMore = await (await post(first, large, { 'idempotency-key': 'a-large-one' })).text();
    const id = answer.headers.get('x-request-id') ?? '';
    await expect.poll(async () => (await get(first, `/v1/requests/${id}`)).status).toBe(200);
    const usage = await get(first, '/v1/usage');
    await first.kill();

    const again = { ...(await startOn(folder)), key: first.key };
    const kept = await get(again, '/v1/usage');
    expect(kept.body).toEqual(atTimeOf(kept.body, usage.body));
    expect((await get(again, `/v1/requests/${id}`)).body).toMatchObject({ id });
    const repeat = await post(again, turns, retried);
    expect(repeat.headers.get('idempotent-replayed')).toBe('true');
    expect(await repeat.text()).toBe(said);
    const repeatMore = await post(again, large, { 'idempotency-key': 'a-large-one' });
    expect(repeatMore.headers.get('idempotent-replayed')).toBe('true');
    expect(await repeatMore.text()).toBe(saidMore);
    await again.kill();

    const third = await startOn(folder);
    expect(third.key).toBe('');
    await third.kill();
  });

  test('npm start stores responses, --data keeps them over kill -9, and no file has what was deleted', async () => {
    const folder = join(root, 'state');
    const first = await startOn(folder);
    const send = (router: Router, method: string, path: string, body?: object) =>
      fetch(`${router.baseUrl}/v1/responses${path}`, {
        method,
        headers: { authorization: `Bearer ${first.key}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify({ model: 'aurora/scribe-1', ...body }) }),
      });
    const large = randomBytes(400_000).toString('base64');
    const created = await Promise.all(
      ['a short one', large].map(async (said) =>
        (await send(first, 'POST', '', { input: `say ${said}` })).json(),
      ),
    );
    await first.kill();
    const again = await startOn(folder);
    for (const { id, ...rest } of created as { id: string }[]) {
      const stored = await send(again, 'GET', `/${id}`);
      expect(await stored.json()).toEqual({ id, ...rest });
    }
    const packed = () => {
      const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
      return files.join('').match(/"(?:input|response|content)":"H4sI/g) ?? [];
    };
    expect(packed().length).toBeGreaterThanOrEqual(4);
    for (const { id } of created as { id: string }[]) {
      expect((await send(again, 'DELETE', `/${id}`)).status).toBe(200);
      expect((await send(again, 'GET', `/${id}`)).status).toBe(404);
    }
    await again.kill();
    // The log, which a killed process leaves, ends with the next one.
    const third = await startOn(folder);
    await third.stop();
    expect(packed()).toEqual([]);
  });

  test('a router with --data ends with one line and exit code 1 while another process uses the folder', async () => {
    const folder = join(root, 'shared');
    const first = await startOn(folder);
    const second = startBuilt(['--json', '--data', folder]);
    const [errors, [code]] = await Promise.all([text(second.stderr), once(second, 'exit')]);
    expect(code).toBe(1);
    expect(errors).toMatch(/^The data folder .* is in use by another process[^\n]*\n$/);
    await first.kill();
  });

  test('a router with --data ends with one line and exit code 1 when its file turns out to be damaged while it starts', async () => {
    const folder = join(root, 'damaged');
    const first = await startOn(folder);
    await first.stop();
    // Every page but the first, which is all that opening it reads.
    const file = join(folder, 'model-router.sqlite');
    writeFileSync(file, readFileSync(file).fill(0xab, 4_096));
    const second = startBuilt(['--json', '--data', folder]);
    const [errors, [code]] = await Promise.all([text(second.stderr), once(second, 'exit')]);
    expect(code).toBe(1);
    expect(errors).toMatch(/^The data folder .* is damaged: restore a copy of it\.\n$/);
  });
});

describe('a router that listens beyond the loopback address', () => {
  const SECRET = 'a secret of the operator';

  test('it requires the secret for console and admin API, from any host name, and keys for calls', async () => {
    const env = { MODEL_ROUTER_ADMIN_SECRET: SECRET };
    const child = start(['--json', '--delay', '0', '--host', '0.0.0.0'], env);
    const ready = await untilReady(child);
    const router = { ...ready, baseUrl: ready.baseUrl.replace('0.0.0.0', '127.0.0.1') };
    const status = async (path: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${router.baseUrl}${path}`, { headers });
      await response.text();
      return response.status;
    };
    const bearer = { authorization: `Bearer ${SECRET}` };
    const basic = { authorization: `Basic ${Buffer.from(`any:${SECRET}`).toString('base64')}` };
    for (const path of ['/admin/projects', '/dashboard', '/dashboard/api/projects']) {
      expect(await status(path)).toBe(401);
      expect(await status(path, { authorization: `Bearer ${router.key}` })).toBe(401);
      expect(await status(path, { ...basic, origin: 'https://site.example' })).toBe(403);
    }
    expect(await status('/admin/projects', bearer)).toBe(200);
    expect(await status('/dashboard', basic)).toBe(200);
    const asked = await fetch(`${router.baseUrl}/dashboard`);
    expect(asked.headers.get('www-authenticate')).toMatch(/^Basic /);
    expect((await post(router, { messages: [{ role: 'user', content: 'hi' }] })).status).toBe(200);
    expect(await status('/v1/models')).toBe(401);
    // The contract is the callers' too.
    expect(await status('/openapi.json')).toBe(200);
  });
});
