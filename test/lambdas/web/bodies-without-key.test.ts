import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, test } from 'vitest';
import { mintKey } from '../../../lambdas/keys/api-key.ts';
import { startEdge, startKeyed } from '../../support/edge.ts';
import { functionUrlEvent } from '../../support/function-url-event.ts';
import { MODEL_ON, post, withRouter } from '../../support/local.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { openSocketsAt } from '../../support/open-sockets.ts';
import { connectTo, type RawClient } from '../../support/raw-client.ts';
import { send } from '../../support/send.ts';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const { close } of opened.splice(0)) await close();
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');
/** Bytes of buffers that something refers to. */
const heldBytes = (): number => {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
};

const MEGABYTE = 1_000_000;
const BODY_BYTES = 5_900_000;

const headOf = (path: string, key = ''): string =>
  [
    `POST ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    ...(key && [`authorization: Bearer ${key}`]),
    'content-type: application/json',
    `content-length: ${BODY_BYTES}`,
    '\r\n',
  ].join('\r\n');

const statusesOf = ({ received }: RawClient): string[] => received().match(/HTTP\/1\.1 \d+/g) ?? [];

/** Opens a connection, sends the head of a request alone, and resolves with its response. */
const ask = async (url: string, head: string): Promise<RawClient> => {
  const client = await connectTo(url);
  client.socket.write(head);
  await client.has('authentication_error');
  return client;
};

describe('a request without a well-formed key', () => {
  test('100 connections without a key get 401 before their bodies of 5.9 MB, which are not kept in memory', async () => {
    await withRouter({}, async (router) => {
      const before = heldBytes();
      const clients = await Promise.all(
        Array.from({ length: 100 }, () => ask(router.baseUrl, headOf('/v1/messages'))),
      );
      const part = Buffer.alloc(MEGABYTE, 'x');
      for (let sent = 0; sent < 4; sent += 1) {
        for (const { socket } of clients) socket.write(part);
        const waiting = () => clients.reduce((sum, { socket }) => sum + socket.writableLength, 0);
        await expect.poll(waiting).toBe(0);
      }
      // Of 400 MB that were sent.
      await expect.poll(() => heldBytes() - before).toBeLessThan(100 * MEGABYTE);
      const good = await post(router, '/v1/messages', {
        model: MODEL_ON.chat,
        max_tokens: 50,
        messages: [{ role: 'user', content: 'say hi' }],
      });
      expect(good.status).toBe(200);
      for (const client of clients) {
        expect(statusesOf(client)).toEqual(['HTTP/1.1 401']);
        client.socket.destroy();
      }
    });
  });

  test.each([
    ['no key', ''],
    ['a key of another format', 'sk-0123456789'],
    ['a key with a wrong checksum', `mrk_live_${'a'.repeat(38)}`],
  ])('%s gets 401 with ids in the envelope of its path before the body', async (_, key) => {
    const { url } = await startKeyed();
    for (const path of ['/v1/messages', '/v1/chat/completions']) {
      const client = await ask(url, headOf(path, key));
      expect(statusesOf(client)).toEqual(['HTTP/1.1 401']);
      expect(client.received()).toMatch(/^x-request-id: req_\w{24}\r$/m);
      expect(client.received().includes('"type":"error"')).toBe(path === '/v1/messages');
      client.socket.destroy();
    }
  });

  test('an unknown path gets 404 before its body', async () => {
    const { url } = await startKeyed();
    const client = await connectTo(url);
    client.socket.write(headOf('/v1/none'));
    await client.has('invalid_request_error');
    expect(statusesOf(client)).toEqual(['HTTP/1.1 404']);
    client.socket.destroy();
  });

  test('a connection that got 401 before its body serves its next request', async () => {
    const { url, key } = await startKeyed();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    const send = async (headers: Record<string, string>, body: Buffer) => {
      const sent = request(`${url}/v1/messages`, { method: 'POST', agent, headers });
      const answered = Promise.withResolvers<{ status: number | undefined; body: string }>();
      sent.once('error', answered.reject).once('response', (response) => {
        ports.add(response.socket.localPort);
        const status = response.statusCode;
        text(response).then((read) => answered.resolve({ status, body: read }), answered.reject);
      });
      sent.end(body);
      return answered.promise;
    };
    const long = Buffer.alloc(BODY_BYTES, 'x');
    const good = Buffer.from('{"a":"b"}');
    for (let round = 0; round < 3; round += 1) {
      expect((await send({}, long)).status).toBe(401);
      const answer = await send({ 'x-api-key': key, 'content-type': 'application/json' }, good);
      expect(answer).toMatchObject({ status: 200, body: expect.stringContaining('{"a":"b"}') });
    }
    expect(ports.size).toBe(1);
    agent.destroy();
  });

  test('a connection that got 401 and never ends its body is closed after the timeout without a second response', async () => {
    const impatient = { headersTimeout: 150, requestTimeout: 300, connectionsCheckingInterval: 30 };
    const { url } = await startKeyed(impatient);
    const client = await ask(url, headOf('/v1/messages'));
    client.socket.write('x'.repeat(1_000));
    await client.closed;
    expect(statusesOf(client)).toEqual(['HTTP/1.1 401']);
    client.socket.destroy();
    await expect.poll(() => openSocketsAt(url)).toEqual([]);
  });
});

test('a well-formed key that is unknown gets 401 before its body', async () => {
  const { url } = await startKeyed();
  const unknown = mintKey((size) => Buffer.alloc(size, 7));
  const client = await ask(url, headOf('/v1/messages', unknown));
  expect(statusesOf(client)).toEqual(['HTTP/1.1 401']);
  client.socket.destroy();
});

test('650 forged keys of one address cost 600 reads of the table, and no key in use is denied', async () => {
  const clock = createManualClock(Date.UTC(2026, 10, 21, 12));
  const { url, key, reads, close } = await startEdge({}, { checksKeyFirst: true }, { clock });
  opened.push({ close });
  const withKey = (apiKey: string) => send(url, '/v1/models', { headers: { 'x-api-key': apiKey } });
  expect((await withKey(key)).status).toBe(200);
  const before = reads();
  const statuses: number[] = [];
  for (let wave = 0; wave < 26; wave += 1) {
    const forged = Array.from({ length: 25 }, () => mintKey(randomBytes));
    statuses.push(...(await Promise.all(forged.map(withKey))).map(({ status }) => status));
  }
  expect(statuses.filter((status) => status === 401)).toHaveLength(600);
  expect(statuses.filter((status) => status === 429)).toHaveLength(50);
  expect(reads() - before).toBe(600);
  expect((await withKey(key)).status).toBe(200);
  const last = await withKey(mintKey(randomBytes));
  expect(last.status).toBe(429);
  expect(last.headers['retry-after']).toBe('1');
  clock.advance(60_000);
  expect((await withKey(mintKey(randomBytes))).status).toBe(401);
});

test('while one address sends forged keys, a valid key of it that is new to the process gets through within two repeats, and reads stay below 21 a second', async () => {
  const clock = createManualClock(Date.UTC(2026, 10, 21, 12));
  const { url, key, reads, close } = await startEdge({}, {}, { clock });
  opened.push({ close });
  const withKey = async (apiKey: string) =>
    (await send(url, '/v1/models', { headers: { 'x-api-key': apiKey } })).status;
  const flood = (count: number) =>
    Promise.all(Array.from({ length: count }, () => withKey(mintKey(randomBytes))));
  for (let wave = 0; wave < 24; wave += 1) await flood(25);
  const before = reads();
  // Ten a second, which was enough to deny the key until the minute ended, then a hundred.
  for (let tick = 0; tick < 20; tick += 1) {
    clock.advance(100);
    expect(await flood(1)).toEqual([401]);
  }
  for (let tick = 0; tick < 100; tick += 1) {
    clock.advance(10);
    await flood(1);
  }
  expect(reads() - before).toBeLessThanOrEqual(20 + 20);
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 3; attempt += 1) {
    clock.advance(1_000);
    statuses.push(await withKey(key));
    await flood(5);
  }
  expect(statuses).toContain(200);
});

test('forged keys from 640 addresses of one IPv6 network cost 600 reads, and the next network has its own 600', async () => {
  const toEvent: typeof functionUrlEvent = (...request) => {
    const event = functionUrlEvent(...request);
    const { http } = event.requestContext;
    const sourceIp = event.headers['x-from'] ?? http.sourceIp;
    return { ...event, requestContext: { ...event.requestContext, http: { ...http, sourceIp } } };
  };
  const clock = createManualClock(Date.UTC(2026, 10, 21, 12));
  const { url, reads, close } = await startEdge({}, { toEvent }, { clock });
  opened.push({ close });
  const forgeFrom = async (from: string) => {
    const headers = { 'x-api-key': mintKey(randomBytes), 'x-from': from };
    return (await send(url, '/v1/models', { headers })).status;
  };
  const spelled = (host: number): string =>
    [
      `2001:db8:0:7::${host.toString(16)}`,
      `2001:0DB8:0000:0007:0:0:0:${host.toString(16)}`,
      `2001:db8::7:${host.toString(16)}:1:2:3`,
    ][host % 3] ?? '';
  const statuses: number[] = [];
  for (let wave = 0; wave < 32; wave += 1) {
    const hosts = Array.from({ length: 20 }, (_, n) => wave * 20 + n + 1);
    statuses.push(...(await Promise.all(hosts.map((host) => forgeFrom(spelled(host))))));
  }
  expect(statuses.filter((status) => status === 401)).toHaveLength(600);
  expect(reads()).toBe(600);
  expect(await forgeFrom('2001:db8:0:7:ffff::')).toBe(429);
  for (const other of [
    '2001:db8:0:8::1',
    '::1',
    '::ffff:192.0.2.1',
    '192.0.2.2',
    'not an address',
  ]) {
    expect([other, await forgeFrom(other)]).toEqual([other, 401]);
  }
});

test('a pipelined request before bytes that are not HTTP gets its response, and the connection is closed', async () => {
  const { url, key } = await startKeyed();
  const client = await connectTo(url);
  const body = '{"a":"b"}';
  const head = headOf('/v1/messages', key).replace(String(BODY_BYTES), String(body.length));
  client.socket.write(`${head}${body}garbage that is not HTTP\r\n\r\n`);
  await client.has('{"a":"b"}');
  await client.closed;
  expect(statusesOf(client)).toEqual(['HTTP/1.1 200']);
});
