import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type OutgoingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { start, untilReady } from './local-process.ts';

const LISTENING = '0A';

/** What a link of the process's folder of files leads to; undefined: closed since. */
const targetOf = (link: string): string | undefined => {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
};

/** The kernel's tables of sockets, and which of them are files of the process. */
const portsOfKernel = (pid: number): number[] => {
  const files = `/proc/${pid}/fd`;
  const open = new Set(readdirSync(files).map((name) => targetOf(`${files}/${name}`)));
  const lines = ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8').trim().split('\n').slice(1),
  );
  return lines.flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
    const isOwn = state === LISTENING && open.has(`socket:[${inode}]`);
    return isOwn ? [Number.parseInt(local.split(':').at(-1) ?? '', 16)] : [];
  });
};

/** Every TCP port on which the process listens; where the kernel shows no such tables, by lsof. */
const portsOf = (pid: number): number[] => {
  if (existsSync(`/proc/${pid}/net/tcp`)) return portsOfKernel(pid);
  const options = ['-nP', '-a', '-p', `${pid}`, '-iTCP', '-sTCP:LISTEN', '-Fn'];
  const { stdout } = spawnSync('lsof', options, { encoding: 'utf8' });
  return [...stdout.matchAll(/^n.*:(\d+)$/gm)].map(([, port]) => Number(port));
};

type Sent = { method: string; path: string; headers: OutgoingHttpHeaders };

/** Sends headers that `fetch` reserves for browsers. */
const send = async (port: number, { method, path, headers }: Sent) => {
  const sent = request({ host: '127.0.0.1', port, method, path, headers });
  sent.end(method === 'POST' ? '{}' : '');
  const [response] = await once(sent, 'response');
  return { status: response.statusCode, headers: response.headers, text: await text(response) };
};

/** What a browser adds to a request that no program of the user sends. */
const FOREIGN: Record<string, (port: number) => OutgoingHttpHeaders> = {
  'a page of another site': () => ({ origin: 'https://site.example' }),
  'a page of another local port': () => ({ origin: 'http://127.0.0.1:1' }),
  'a page of a file': () => ({ origin: 'null' }),
  'a page of another site, without an origin': () => ({ 'sec-fetch-site': 'cross-site' }),
  'a page of another local port, without an origin': () => ({ 'sec-fetch-site': 'same-site' }),
  'a page whose name was rebound': (port) => ({ host: `rebound.example:${port}` }),
  'a rebound page of the same origin': (port) => ({
    ...{ host: `rebound.example:${port}`, origin: `http://rebound.example:${port}` },
    'sec-fetch-site': 'same-origin',
  }),
  'a name that begins like the loopback address': (port) => ({
    host: `127.0.0.1.rebound.example:${port}`,
  }),
};

/** What each kind of service would do for a program. */
const requestsWith = (key: string): Sent[] => {
  const target = (name: string, type: string) => ({
    ...{ method: 'POST', path: '/' },
    headers: { 'x-amz-target': name, 'content-type': type, authorization: 'AWS4-HMAC-SHA256' },
  });
  return [
    { method: 'GET', path: '/', headers: {} },
    { method: 'PUT', path: '/object', headers: {} },
    { method: 'OPTIONS', path: '/', headers: { 'access-control-request-method': 'POST' } },
    { method: 'GET', path: '/v1/models', headers: { 'x-api-key': key } },
    { method: 'GET', path: '/admin/projects', headers: {} },
    { method: 'POST', path: '/v1/chat/completions', headers: { authorization: `Bearer ${key}` } },
    target('secretsmanager.GetSecretValue', 'application/x-amz-json-1.1'),
  ];
};

const allowsOrigin = (headers: object) =>
  Object.keys(headers).some((name) => name.startsWith('access-control-'));

/** What a port does that it should not: rejects a program, serves a page, or allows an origin. */
const faultsOf = async (port: number, sent: Sent): Promise<string[]> => {
  const own = await send(port, sent);
  const faults = own.status === 403 || allowsOrigin(own.headers) ? [`${own.status}`] : [];
  for (const [name, foreign] of Object.entries(FOREIGN)) {
    const headers = { ...sent.headers, ...foreign(port) };
    const reply = await send(port, { ...sent, headers });
    if (reply.status !== 403 || allowsOrigin(reply.headers)) faults.push(`${name} ${reply.status}`);
  }
  return faults.map((fault) => `${port} ${sent.method} ${sent.path}: ${fault}`);
};

test('every listening port of npm start rejects foreign origins and hosts with 403 and allows no origin', async () => {
  const child = start(['--json']);
  const { baseUrl, key } = await untilReady(child);
  const ports = portsOf(child.pid ?? 0);
  // The router, and the upstream of all protocols.
  expect(ports.length).toBeGreaterThanOrEqual(2);
  expect(ports).toContain(Number(new URL(baseUrl).port));
  const faults: string[] = [];
  for (const port of ports) {
    for (const sent of requestsWith(key)) faults.push(...(await faultsOf(port, sent)));
  }
  child.kill('SIGTERM');
  await once(child, 'exit');
  expect(faults).toEqual([]);
});
