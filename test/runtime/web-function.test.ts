import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WEB_BUNDLE } from '../../lib/bundle/bundle.ts';
import { listen } from '../../local/loopback.ts';
import { startDynamoProxy } from '../metering/dynamo-proxy.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { type DynamoRouter, startOnDynamo } from '../support/dynamo-stores.ts';
import { MODEL_ON, post } from '../support/local.ts';
import { connectTo } from '../support/raw-client.ts';
import { bundleFor, environmentFor } from './start-function.ts';

const CHAT = '/v1/chat/completions';

/** An address that nobody listens on. */
const freeEndpoint = async (): Promise<string> => {
  const { url, close } = await listen(createServer());
  await close();
  return new URL(url).host;
};

const until = async (isTrue: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isTrue())) await pause(10);
};

type Asking = { signal?: AbortSignal; at?: DynamoRouter };

describe('the bundle of the Web Function', () => {
  let local: DynamoRouter;
  let shipped: ReturnType<typeof bundleFor>;
  const processes: ChildProcess[] = [];
  let router: DynamoRouter;

  beforeAll(async () => {
    local = await startOnDynamo();
    shipped = bundleFor(local, WEB_BUNDLE);
    ({ router } = await startWeb());
  });
  afterEach(() => local.upstreams.reset());
  afterAll(async () => {
    for (const child of processes) child.kill('SIGKILL');
    shipped?.remove();
    await local?.close();
  });

  /** A process as the platform starts it, once it listens. */
  const startWeb = async (env = environmentFor(local.endpoints)) => {
    const endpoint = await freeEndpoint();
    const started = spawn(process.execPath, ['index.js'], {
      cwd: shipped.folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...env, AWS_LAMBDA_HTTP_ENDPOINT: endpoint },
    });
    started.unref();
    processes.push(started);
    const baseUrl = `http://${endpoint}`;
    await until(() =>
      fetch(baseUrl).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    return { child: started, router: { ...local, baseUrl } };
  };

  const ask = (content: string, { signal, at = router }: Asking = {}) =>
    fetch(`${at.baseUrl}${CHAT}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${local.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: MODEL_ON.chat,
        stream: true,
        messages: [{ role: 'user', content }],
      }),
      signal: signal ?? null,
    });

  test('the Web Function streams many responses at once from one process', async () => {
    local.upstreams.inject({ fault: { kind: 'slow', ms: 5 } });
    const texts = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        const response = await ask(`say number ${at}.`);
        expect(response.headers.get('content-encoding')).toBe('gzip');
        return response.text();
      }),
    );
    const said = texts.map((text) =>
      [...text.matchAll(/"content":"([^"]*)"/g)].map(([, part]) => part).join(''),
    );
    expect(said).toEqual(texts.map((_, at) => `number ${at}.`));
  });

  test('the Web Function aborts the upstream call when the client disconnects', async () => {
    local.upstreams.inject({ fault: { kind: 'stall', after: 3 } });
    const leaving = new AbortController();
    const answer = await ask('hello', { signal: leaving.signal });
    await answer.body?.getReader().read();
    expect(local.upstreams.calls.at(-1)?.outcome).toBe('open');
    leaving.abort();
    await until(() => local.upstreams.calls.at(-1)?.outcome === 'abandoned');
  });

  test('the Web Function rejects a request without a key with 401', async () => {
    const refused = await post(router, CHAT, {}, { key: 'wrong' });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('x-request-id')).toMatch(/^req_/);
  });

  test('the Web Function answers a request without a key before its body arrives', async () => {
    const client = await connectTo(router.baseUrl);
    client.socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: 5900000\r\n\r\n`);
    await client.has('authentication_error');
    expect(client.received()).toMatch(/^HTTP\/1\.1 401 /);
    client.socket.destroy();
  });

  test('a keys table that hangs is a 503 within 2.5 s, for a request that waits with its body as well', async () => {
    const proxy = await startDynamoProxy(local.endpoints.dynamo);
    onTestFinished(proxy.close);
    const env = environmentFor({ ...local.endpoints, dynamo: proxy.url });
    const { router: at } = await startWeb(env);
    proxy.decide(({ table }) => (table === TABLE_NAMES.keys ? 'silence' : 'none'));
    const timeOne = async () => {
      const startedAt = performance.now();
      const { status, headers } = await ask('hello', { at });
      expect([status, headers.get('retry-after')]).toEqual([503, '1']);
      return performance.now() - startedAt;
    };
    // Of a busy machine the best of some.
    await expect.poll(timeOne).toBeLessThanOrEqual(2_500);
    proxy.decide(() => 'none');
    await expect.poll(async () => (await ask('hello', { at })).status).toBe(200);
  });

  test('on SIGTERM the Web Function finishes requests in flight, accepts no new ones and exits', async () => {
    const ending = await startWeb();
    local.upstreams.inject({ fault: { kind: 'slow', ms: 50 } });
    const answer = await ask('say see you later.', { at: ending.router });
    const exited = once(ending.child, 'exit');
    ending.child.kill('SIGTERM');
    expect(await answer.text()).toMatch(/data: \[DONE\]\n\n$/);
    expect(await exited).toEqual([0, null]);
    await expect(fetch(ending.router.baseUrl)).rejects.toThrow();
  });

  test('the Web Function reads AWS credentials from every source of the SDK, not only variables', async () => {
    const {
      AWS_ACCESS_KEY_ID: AccessKeyId,
      AWS_SECRET_ACCESS_KEY: SecretAccessKey,
      ...env
    } = environmentFor(local.endpoints);
    let asked = 0;
    const credentials = await listen(
      createServer((_, response) => {
        asked += 1;
        const Expiration = new Date(Date.now() + 3_600_000).toISOString();
        response.end(JSON.stringify({ AccessKeyId, SecretAccessKey, Token: 'token', Expiration }));
      }),
    );
    onTestFinished(credentials.close);
    const other = await startWeb({ ...env, AWS_CONTAINER_CREDENTIALS_FULL_URI: credentials.url });
    expect((await ask('hello', { at: other.router })).status).toBe(200);
    expect(asked).toBeGreaterThan(0);
  });

  test('the Web Function exits at once without a port to listen on', async () => {
    const env = environmentFor(local.endpoints);
    const lost = spawn(process.execPath, ['index.js'], { cwd: shipped.folder, env });
    const told = lost.stderr.toArray();
    expect((await once(lost, 'exit'))[0]).toBe(1);
    expect(Buffer.concat(await told).toString()).toContain('AWS_LAMBDA_HTTP_ENDPOINT');
  });
});
