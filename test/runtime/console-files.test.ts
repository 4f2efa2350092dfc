import { brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundleConsole } from '../../console/bundle.ts';
import type { ConsoleEnv } from '../../lambdas/env.ts';
import { addConsole, CONSOLE_FILES, withBrotli } from '../../lib/bundle/bundle.ts';
import { exampleModels } from '../lib/synth.ts';
import { restApi } from './events.ts';
import { installRuntimeClient } from './install-runtime-client.ts';
import { bundleFor, type RunningFunction, startFunction } from './start-function.ts';

const client = installRuntimeClient();
const entry = 'entry' in client ? client.entry : '';
const files = bundleConsole();

describe.skipIf(entry === '')("the console's files under AWS's runtime client", () => {
  let shipped: ReturnType<typeof bundleFor>;
  let running: RunningFunction;

  beforeAll(async () => {
    shipped = bundleFor({ models: exampleModels }, { entry: 'lambdas/console-files.ts' });
    addConsole(shipped, withBrotli(files));
    const env = {
      STAGE: 'test',
      CONSOLE_FILES,
      SIGN_IN_DOMAIN: 'login.test',
      SIGN_IN_CLIENT: 'client',
    } satisfies ConsoleEnv;
    const endpoints = { dynamo: 'http://127.0.0.1:9', secrets: 'http://127.0.0.1:9' };
    running = await startFunction({ client: entry, folder: shipped.folder, endpoints, env });
  });
  afterAll(async () => {
    await running?.stop();
    shipped?.remove();
  });

  /** As the REST API sends it to a function that streams. */
  const get = (name: string, acceptsBrotli = true) =>
    running.invoke({
      ...restApi(`/dashboard/files/${name}`, { method: 'GET', acceptsGzip: acceptsBrotli }),
      resource: '/dashboard/files/{file}',
      pathParameters: { file: name },
    });

  test('the function streams each file as brotli after its head, and as text to a client without it', async () => {
    for (const [name, { type, text }] of Object.entries(files.assets)) {
      const packed = get(name);
      expect(await packed.head).toMatchObject({
        statusCode: 200,
        headers: { 'content-type': type, 'content-encoding': 'br' },
      });
      await packed.text;
      expect(String(brotliDecompressSync(Buffer.concat(packed.chunks)))).toBe(text);
      const plain = get(name, false);
      expect((await plain.head).headers).not.toHaveProperty('content-encoding');
      await plain.text;
      expect(String(Buffer.concat(plain.chunks))).toBe(text);
    }
  });

  test('a file of another version gets 404 with a request id, and the function lives on', async () => {
    const other = get('app.OLD.js');
    expect(await other.head).toMatchObject({
      statusCode: 404,
      headers: { 'x-request-id': expect.stringMatching(/^req_/) },
    });
    expect(await other.text).toContain('Reload the page.');
    expect((await get('openapi.json').head).statusCode).toBe(200);
    expect(running.errors).toEqual([]);
    expect(running.child.exitCode).toBeNull();
  });
});
