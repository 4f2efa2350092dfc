import { once } from 'node:events';
import { request } from 'node:http';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import defaultModels from '../../lambdas/catalog/models.json' with { type: 'json' };
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { type LocalRouter, startLocal } from '../../local/start.ts';
import { createWatchedLog } from '../support/watched-log.ts';

let router: LocalRouter;
let page: string;
let token: string;

/** Sends headers that `fetch` reserves for browsers. */
const send = async (
  path: string,
  {
    method = 'GET',
    headers = {},
    body = '',
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
) => {
  const sent = request(`${router.baseUrl}${path}`, { method, headers });
  sent.end(body);
  const [response] = await once(sent, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  return {
    status: response.statusCode,
    headers: response.headers,
    sent: bytes.length,
    text: String(response.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes),
  };
};

/** Headers of a browser that calls from the console's page. */
const fromPage = () => ({
  origin: router.baseUrl,
  'sec-fetch-site': 'same-origin',
  'x-console-token': token,
  'content-type': 'application/json',
});

const PROJECTS = '/dashboard/api/projects';

const createProject = (headers: Record<string, string | undefined>, id: string) =>
  send(PROJECTS, {
    method: 'POST',
    headers: Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value]],
      ),
    ),
    body: JSON.stringify({ id }),
  });

beforeAll(async () => {
  router = await startLocal({ log: createWatchedLog(parseModels(defaultModels), systemClock) });
  page = (await send('/dashboard')).text;
  token = /token&quot;:&quot;([\w-]+)&quot;/.exec(page)?.[1] ?? '';
});
afterAll(() => router.close());

const assetsOf = (html: string): string[] =>
  [...html.matchAll(/(?:href|src)="(dashboard\/[^"]+)"/g)].map(([, path = '']) => `/${path}`);

describe('the page of the console', () => {
  test('the page and its files allow no inline script, no other origin and no frame', async () => {
    for (const path of ['/dashboard', ...assetsOf(page)]) {
      const { status, headers } = await send(path);
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'content-security-policy': expect.stringContaining(
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; ",
        ),
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'x-request-id': expect.stringMatching(/^req_/),
      });
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    }
    expect(page).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=/);
  });

  test('a file is sent as gzip to a client that accepts it, with the same text as to another', async () => {
    const script = assetsOf(page).find((path) => path.endsWith('.js')) ?? '';
    for (const [path, most] of [
      [script, 0.4],
      ['/openapi.json', 0.1],
    ] as const) {
      const [packed, plain] = [
        await send(path, { headers: { 'accept-encoding': 'gzip, deflate, br' } }),
        await send(path),
      ];
      expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
      expect(plain.headers).toMatchObject({ vary: 'accept-encoding' });
      expect(plain.headers).not.toHaveProperty('content-encoding');
      expect(packed.text).toBe(plain.text);
      expect(packed.sent).toBeLessThan(most * plain.sent);
    }
    const head = { method: 'HEAD', headers: { 'accept-encoding': 'gzip' } };
    expect(await send(script, head)).toMatchObject({ status: 200, sent: 0 });
  });

  test('browsers keep the files of the console, and ask for the page each time', async () => {
    expect((await send('/dashboard')).headers['cache-control']).toBe('no-store');
    const assets = assetsOf(page);
    expect(assets).toHaveLength(2);
    for (const path of assets) {
      expect((await send(path)).headers['cache-control']).toContain('immutable');
    }
  });

  test('the console is below 60 KB of gzip in total', async () => {
    const texts = await Promise.all(assetsOf(page).map(async (path) => (await send(path)).text));
    const bytes = [page, ...texts].reduce((sum, text) => sum + gzipSync(text).byteLength, 0);
    expect(bytes).toBeLessThan(60_000);
  });

  test.each([
    ['GET', '/dashboard/', 308],
    ['GET', '/dashboard/other.js', 404],
    ['GET', '/dashboard/__proto__', 404],
    ['GET', '/dashboard/..%2fpackage.json', 404],
    ['POST', '/dashboard', 405],
  ])('%s %s returns %i', async (method, path, status) => {
    expect((await send(path, { method })).status).toBe(status);
  });
});

describe('calls of the console on the loopback address', () => {
  test('a call from the page with its token is the operator, also without an origin', async () => {
    const created = await createProject(fromPage(), 'from-page');
    expect(created.status).toBe(201);
    const { origin: _, ...read } = fromPage();
    const listed = await send(PROJECTS, { headers: read });
    expect(listed.text).toContain('from-page');
    expect(listed.headers['cache-control']).toBe('no-store');
  });

  test.each<[string, Record<string, string | undefined>]>([
    ['of another origin', { origin: 'http://127.0.0.1:1' }],
    ['for another host', { host: 'rebound.example', origin: 'http://rebound.example' }],
    ['from another site', { 'sec-fetch-site': 'cross-site' }],
    ['from another port', { 'sec-fetch-site': 'same-site' }],
    ['without a site', { 'sec-fetch-site': undefined }],
    ['without the token', { 'x-console-token': undefined }],
    ['with another token', { 'x-console-token': 'x' }],
  ])('a call %s gets 403 and changes nothing', async (_, headers) => {
    const refused = await createProject({ ...fromPage(), ...headers }, 'refused');
    expect(refused.status).toBe(403);
    expect((await send('/admin/projects')).text).not.toContain('refused');
  });

  test('a page of an earlier start gets a text for its reader, and the CLI one for its own', async () => {
    const stale = await send(PROJECTS, {
      headers: { ...fromPage(), 'x-console-token': 'earlier' },
    });
    expect(stale.text).toContain('This page may not call any more. Reload it.');
    const signed = await send('/admin/projects', { headers: { origin: router.baseUrl } });
    expect(signed.text).toContain('Operators sign their requests with AWS credentials.');
  });

  test.each([
    ['a link on another site', 'navigate', 200],
    ['a script or picture of another site', 'no-cors', 403],
  ])('%s to the console gets %3$i', async (_, mode, status) => {
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': mode };
    expect((await send('/dashboard', { headers })).status).toBe(status);
  });

  test.each(['cross-site', 'same-site', 'same-origin', 'none'])(
    'a browser that reads an admin path without an origin gets 403 (%s)',
    async (site) => {
      const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate' };
      expect((await send('/admin/projects', { headers })).status).toBe(403);
      expect((await send('/admin/projects')).status).toBe(200);
    },
  );

  test('the page is not served under another host, whose pages could read its token', async () => {
    const { status, text } = await send('/dashboard', { headers: { host: 'rebound.example' } });
    expect(status).toBe(403);
    expect(text).not.toContain(token);
  });

  test('an admin path with an origin stays denied, with the token too', async () => {
    const { status } = await send('/admin/projects', { headers: fromPage() });
    expect(status).toBe(403);
  });
});
