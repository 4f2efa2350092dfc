import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { type Edge, startKeyed } from '../../support/edge.ts';
import { openSocketsAt } from '../../support/open-sockets.ts';
import { connectTo, type RawClient } from '../../support/raw-client.ts';

const MEGABYTE = Buffer.alloc(1_000_000, 'x');
const CHUNK = Buffer.concat([Buffer.from('f4240\r\n'), MEGABYTE, Buffer.from('\r\n')]);
const LONG = Buffer.alloc(20_000_000, 'x');

const headOf = ({ key }: Pick<Edge, 'key'>, ...headers: string[]): string =>
  [
    'POST /v1/messages HTTP/1.1',
    ...['host: 127.0.0.1', `x-api-key: ${key}`, 'content-type: application/json', ...headers],
    '\r\n',
  ].join('\r\n');

const statusesOf = ({ received }: RawClient): string[] => received().match(/HTTP\/1\.1 \d+/g) ?? [];

const expectTooLong = (client: RawClient) => {
  expect(statusesOf(client)).toEqual(['HTTP/1.1 413']);
  const [head = '', body = ''] = client.received().split('\r\n\r\n');
  const [, id] = /^x-request-id: (req_\w{24})\r?$/m.exec(head) ?? [];
  expect(JSON.parse(body)).toEqual({
    type: 'error',
    error: { type: 'invalid_request_error', message: 'The request is over 6 MB.' },
    request_id: id,
  });
};

const ENDLESS = [
  { sent: 'a length of 5 GB', header: 'content-length: 5000000000', part: MEGABYTE, first: 1 },
  { sent: 'no length', header: 'transfer-encoding: chunked', part: CHUNK, first: 7 },
];

test.each(ENDLESS)(
  'a client that sends $sent gets 413 with ids in its envelope while it sends, and is closed before it has sent 100 MB',
  async ({ header, part, first }) => {
    const edge = await startKeyed();
    const client = await connectTo(edge.url);
    client.socket.write(headOf(edge, header));
    for (let sent = 0; sent < first; sent += 1) client.socket.write(part);
    await client.has('over 6 MB');
    expectTooLong(client);
    let isClosed = false;
    void client.closed.then(() => {
      isClosed = true;
    });
    let sent = first;
    for (; sent < 100 && !isClosed; sent += 1) {
      if (client.socket.write(part)) continue;
      await Promise.race([once(client.socket, 'drain').catch(() => undefined), client.closed]);
    }
    await client.closed;
    expect(sent).toBeGreaterThan(50);
    expect(sent).toBeLessThan(100);
    expectTooLong(client);
    client.socket.destroy();
    await expect.poll(() => openSocketsAt(edge.url)).toEqual([]);
  },
);

test('a client without a key is closed before it has sent 100 MB', async () => {
  const edge = await startKeyed();
  const client = await connectTo(edge.url);
  client.socket.write(headOf({ key: 'none' }, 'content-length: 5000000000'));
  await client.has('authentication_error');
  for (let sent = 0; sent < 100; sent += 1) client.socket.write(MEGABYTE);
  await client.closed;
  expect(statusesOf(client)).toEqual(['HTTP/1.1 401']);
  client.socket.destroy();
});

test.each(['keep-alive', 'close'])(
  'a client with connection: %s that reads nothing until its body of 20 MB is sent reads 413',
  async (connection) => {
    const edge = await startKeyed();
    const client = await connectTo(edge.url);
    client.socket.pause();
    client.socket.write(
      headOf(edge, `connection: ${connection}`, `content-length: ${LONG.byteLength}`),
    );
    await new Promise((resolve) => client.socket.write(LONG, resolve));
    client.socket.resume();
    await client.has('over 6 MB');
    expectTooLong(client);
    client.socket.destroy();
  },
);

test('a connection that got 413 before its body serves its next request', async () => {
  const { url, key } = await startKeyed();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set<number | undefined>();
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const send = async (body: Buffer) => {
    const sent = request(`${url}/v1/messages`, { method: 'POST', agent, headers });
    sent.end(body);
    const [response] = await once(sent, 'response');
    ports.add(response.socket.localPort);
    await text(response);
    return response.statusCode;
  };
  for (let round = 0; round < 2; round += 1) {
    expect([await send(LONG), await send(Buffer.from('{"a":"b"}'))]).toEqual([413, 200]);
  }
  expect(ports.size).toBe(1);
  agent.destroy();
});

test('fetch gets 413 for a body of 20 MB, and for a stream of 90', async () => {
  const { url, key } = await startKeyed();
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const parts = Readable.from(Array.from({ length: 90 }, () => MEGABYTE));
  const stream = { body: Readable.toWeb(parts), duplex: 'half' };
  const bodies = [{ body: LONG }, stream] as RequestInit[];
  for (const body of bodies) {
    const response = await fetch(`${url}/v1/messages`, { method: 'POST', headers, ...body });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({
      request_id: response.headers.get('x-request-id'),
    });
  }
});

test('a client that expects 100 sends no body of 20 MB, gets 413 and is closed', async () => {
  const edge = await startKeyed();
  const client = await connectTo(edge.url);
  client.socket.write(headOf(edge, 'expect: 100-continue', `content-length: ${LONG.byteLength}`));
  await client.closed;
  expect(client.received()).toMatch(/^connection: close\r$/im);
  expectTooLong(client);
  client.socket.destroy();
});

test('a client without a key that expects 100 sends no body of 20 MB, gets 401 and is closed', async () => {
  const edge = await startKeyed();
  const client = await connectTo(edge.url);
  const length = `content-length: ${LONG.byteLength}`;
  client.socket.write(headOf({ key: 'none' }, 'expect: 100-continue', length));
  await client.closed;
  expect(statusesOf(client)).toEqual(['HTTP/1.1 401']);
  client.socket.destroy();
});

test('a client that expects 100 before a body of the usual size gets it, and its response', async () => {
  const edge = await startKeyed();
  const client = await connectTo(edge.url);
  client.socket.write(headOf(edge, 'expect: 100-continue', 'content-length: 9'));
  await client.has('100 Continue');
  client.socket.write('{"a":"b"}');
  await client.has('"body"');
  expect(statusesOf(client)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 200']);
  client.socket.destroy();
});

test('a connection that got 413 and never ends its body is closed after the timeout without a second response', async () => {
  const impatient = { headersTimeout: 150, requestTimeout: 300, connectionsCheckingInterval: 30 };
  const edge = await startKeyed(impatient);
  const client = await connectTo(edge.url);
  client.socket.write(headOf(edge, 'content-length: 7000000'));
  client.socket.write('x'.repeat(1_000));
  await client.closed;
  expectTooLong(client);
  client.socket.destroy();
  await expect.poll(() => openSocketsAt(edge.url)).toEqual([]);
});
