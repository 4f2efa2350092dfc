import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Edge, startEdge } from '../support/edge.ts';
import { openSocketsAt } from '../support/open-sockets.ts';
import { connectTo, postBytes, type RawClient } from '../support/raw-client.ts';
import { PATHS } from '../support/request-forms.ts';
import { send } from '../support/send.ts';

/** The shipped limits are 10 and 60 seconds, by the system's own clock. */
const IMPATIENT = { headersTimeout: 150, requestTimeout: 300, connectionsCheckingInterval: 30 };

let edge: Edge;
beforeAll(async () => {
  edge = await startEdge({}, { slowClients: IMPATIENT });
});
afterAll(() => edge.close());

const FAMILIES = Object.values(PATHS);

/** A request with a long body, cut after `body` bytes of it. */
const cut = (path: string, body: number): string => {
  const whole = postBytes(path, edge.key, { padding: 'x'.repeat(10_000) });
  return whole.slice(0, whole.indexOf('\r\n\r\n') + 4 + body);
};

const open = async (bytes: string): Promise<RawClient> => {
  const client = await connectTo(edge.url);
  client.socket.write(bytes);
  await expect.poll(() => openSocketsAt(edge.url).length).toBeGreaterThan(0);
  return client;
};

const expectNothingLeft = async () => {
  await expect.poll(() => openSocketsAt(edge.url)).toEqual([]);
  expect(edge.lines.filter(({ method }) => method === 'POST')).toEqual([]);
  const ask = () => send(edge.url, '/v1/models', { headers: { 'x-api-key': edge.key } });
  // Again, since a busy machine may send this one too late as well.
  await expect.poll(async () => (await ask()).status).toBe(200);
};

const expectRefusal = (received: string) => {
  const answers = received.match(/HTTP\/1\.1 \d+/g);
  expect(answers).toEqual(['HTTP/1.1 408']);
  expect(received).toMatch(/^x-request-id: req_\w{24}\r$/m);
  const body: unknown = JSON.parse(received.slice(received.indexOf('\r\n\r\n')));
  expect(body).toMatchObject({ error: { type: 'invalid_request_error' } });
};

describe.each(FAMILIES)('a request to %s', (path) => {
  test.each([
    ['whose headers never end', () => cut(path, 0).slice(0, -2)],
    ['whose body never comes', () => cut(path, 0)],
    ['whose body stops half-way', () => cut(path, 5_000)],
  ])('%s is refused in time and leaves nothing behind', async (_, bytes) => {
    const client = await open(bytes());
    await client.closed;
    expectRefusal(client.received());
    client.socket.destroy();
    await expectNothingLeft();
  });

  test('a request sent byte by byte gets the same timeout as one that stops', async () => {
    const client = await open(cut(path, 0));
    const drip = setInterval(() => client.socket.write('x'), 20);
    await client.closed;
    clearInterval(drip);
    expectRefusal(client.received());
    client.socket.destroy();
    await expectNothingLeft();
  });

  test.each([
    ['is reset', ({ socket }: RawClient) => socket.resetAndDestroy()],
    ['is closed', ({ socket }: RawClient) => socket.destroy()],
    ['is half-closed', ({ socket }: RawClient) => socket.end()],
  ])('a request that %s in mid-body never reaches the router', async (_, goes) => {
    const client = await open(cut(path, 5_000));
    goes(client);
    await expectNothingLeft();
    client.socket.destroy();
  });
});
