import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { listen } from '../../local/loopback.ts';
import { type LocalRouter, startLocal } from '../../local/start.ts';
import { MODEL_ON, post } from '../support/local.ts';
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

describe('the bundle of the Web Function', () => {
  let local: LocalRouter;
  let shipped: ReturnType<typeof bundleFor>;
  let child: ChildProcess;
  let router: LocalRouter;

  beforeAll(async () => {
    local = await startLocal();
    shipped = bundleFor(local, 'lambdas/web.ts');
    const endpoint = await freeEndpoint();
    child = spawn(process.execPath, ['index.cjs'], {
      cwd: shipped.folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...environmentFor(local.endpoints), AWS_LAMBDA_HTTP_ENDPOINT: endpoint },
    });
    router = { ...local, baseUrl: `http://${endpoint}` };
    await until(() =>
      fetch(router.baseUrl).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
  });
  afterEach(() => local.upstreams.reset());
  afterAll(async () => {
    if (child?.exitCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    shipped?.remove();
    await local?.close();
  });

  const ask = (content: string, signal?: AbortSignal) =>
    fetch(`${router.baseUrl}${CHAT}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${local.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: MODEL_ON.chat,
        stream: true,
        messages: [{ role: 'user', content }],
      }),
      signal: signal ?? null,
    });

  test('streams many answers at once from one process', async () => {
    local.upstreams.inject({ fault: { kind: 'slow', ms: 5 } });
    const texts = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => (await ask(`say number ${at}.`)).text()),
    );
    const said = texts.map((text) =>
      [...text.matchAll(/"content":"([^"]*)"/g)].map(([, part]) => part).join(''),
    );
    expect(said).toEqual(texts.map((_, at) => `number ${at}.`));
  });

  test('stops the upstream when its caller leaves', async () => {
    local.upstreams.inject({ fault: { kind: 'stall', after: 3 } });
    const leaving = new AbortController();
    const answer = await ask('hello', leaving.signal);
    await answer.body?.getReader().read();
    expect(local.upstreams.calls.at(-1)?.outcome).toBe('open');
    leaving.abort();
    await until(() => local.upstreams.calls.at(-1)?.outcome === 'abandoned');
  });

  test('checks keys itself, as nobody does before it', async () => {
    const refused = await post(router, CHAT, {}, { key: 'wrong' });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('x-request-id')).toMatch(/^req_/);
  });

  test('ends at once where the platform does not say where to listen', async () => {
    const env = environmentFor(local.endpoints);
    const lost = spawn(process.execPath, ['index.cjs'], { cwd: shipped.folder, env });
    const told = lost.stderr.toArray();
    expect((await once(lost, 'exit'))[0]).toBe(1);
    expect(Buffer.concat(await told).toString()).toContain('AWS_LAMBDA_HTTP_ENDPOINT');
  });
});
