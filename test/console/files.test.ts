import { once } from 'node:events';
import { request } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { synthTemplate } from '../lib/synth.ts';
import { type Deployment, startDeployment } from '../support/deployment/start-deployment.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment(synthTemplate({ functionUrl: 'off' }));
});
afterAll(() => deployment.close());

/** Sends a request to the REST API of the template, with what a browser accepts. */
const get = async (path: string, accepts = 'gzip, deflate, br, zstd') => {
  const { host, pathname } = new URL(deployment.baseUrl);
  const sent = request({
    host: '127.0.0.1',
    port: deployment.port,
    path: `${pathname}/${path}`,
    headers: { host, 'accept-encoding': accepts, accept: '*/*' },
    rejectUnauthorized: false,
  });
  sent.end();
  const [response] = await once(sent, 'response');
  return { status: response.statusCode, headers: response.headers, bytes: await buffer(response) };
};

const filesOf = (page: Buffer): string[] =>
  [...String(page).matchAll(/(?:href|src)="(dashboard\/[^"]+)"/g)].map(([, path = '']) => path);

test('page, script and style of the console on the REST API are at most 48 KB as a browser gets them', async () => {
  const page = await get('dashboard');
  const paths = filesOf(page.bytes);
  expect(paths.map((path) => path.replace(/\.\w+(?=\.)/, ''))).toEqual([
    'dashboard/files/app.css',
    'dashboard/files/app.js',
  ]);
  const files = await Promise.all(paths.map((path) => get(path)));
  for (const { status, headers } of files) {
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-encoding': 'br',
      vary: 'accept-encoding',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
      'x-content-type-options': 'nosniff',
    });
  }
  const sent = [page, ...files].reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  expect(sent).toBeGreaterThan(30_000);
  expect(sent).toBeLessThan(48_000);
});

test('the streamed files have the texts of the buffered ones, which a page of older code addresses', async () => {
  const { bytes } = await get('dashboard');
  for (const path of filesOf(bytes)) {
    const [streamed, plain, buffered] = await Promise.all([
      get(path),
      get(path, 'gzip, br;q=0'),
      get(path.replace('/files/', '/')),
    ]);
    expect(buffered.headers).not.toHaveProperty('content-encoding');
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(String(brotliDecompressSync(streamed.bytes))).toBe(String(buffered.bytes));
    expect(String(plain.bytes)).toBe(String(buffered.bytes));
  }
});

test.each([
  'dashboard/files/other.js',
  'dashboard/files/__proto__',
  'dashboard/files/..%2f..%2fpackage.json',
])('GET %s returns 404', async (path) => {
  expect((await get(path)).status).toBe(404);
});
