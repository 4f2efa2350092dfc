import '../../../lambdas/web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import type { HttpHandler } from '../../../lambdas/http/create-http-handler.ts';
import { systemClock } from '../../../lambdas/support/clock.ts';
import { type RunningServer, startServer } from '../../../lambdas/web/server.ts';

const READ_TIMEOUT_MS = 100;
/** More than the buffers of a connection hold. */
const LARGE = 'x'.repeat(30_000_000);
const REQUEST = 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n';

let server: RunningServer | undefined;
let client: Socket | undefined;
afterEach(async () => {
  client?.destroy();
  await server?.close();
});

/** Sends a request to a server over `handler`, and reads nothing yet. */
const request = async (handler: HttpHandler): Promise<Socket> => {
  const slowClients = { readTimeout: READ_TIMEOUT_MS };
  server = await startServer({ port: 0, handler, clock: systemClock, randomBytes, slowClients });
  const { hostname, port } = new URL(server.url);
  client = connect(Number(port), hostname).pause();
  client.write(REQUEST);
  return client;
};

const respond = (stream: Parameters<HttpHandler>[1]) =>
  awslambda.HttpResponseStream.from(stream, { statusCode: 200 });

test('a response whose client stops reading is destroyed', async () => {
  const isDestroyed = Promise.withResolvers<boolean>();
  await request(async (_event, stream) => {
    const response = respond(stream);
    response.write(LARGE);
    response.end();
    await once(response, 'close');
    isDestroyed.resolve(response.destroyed && !response.writableFinished);
  });
  expect(await isDestroyed.promise).toBe(true);
});

test('a response that is silent for longer than a client may read nothing is sent whole', async () => {
  const socket = await request(async (_event, stream) => {
    const response = respond(stream);
    response.write('early ');
    await delay(3 * READ_TIMEOUT_MS);
    response.end('late');
  });
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*early [\s\S]*late/);
});

test('a response that was silent is destroyed if its client does not read the rest', async () => {
  const isDestroyed = Promise.withResolvers<boolean>();
  await request(async (_event, stream) => {
    const response = respond(stream);
    await delay(3 * READ_TIMEOUT_MS);
    response.end(LARGE);
    await once(response, 'close');
    isDestroyed.resolve(response.destroyed && !response.writableFinished);
  });
  expect(await isDestroyed.promise).toBe(true);
});

test('a handler that writes to a disconnected client does not fail', async () => {
  const ended = Promise.withResolvers<void>();
  const socket = await request(async (_event, stream) => {
    const response = respond(stream);
    response.write('early');
    await once(response, 'close');
    response.write('late');
    response.end('last');
    ended.resolve();
  });
  await once(socket.resume(), 'data');
  socket.destroy();
  await ended.promise;
});
