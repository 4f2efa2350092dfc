import '../../lambdas/web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { startServer } from '../../lambdas/web/server.ts';
import { deliveredEvent } from '../support/delivered-event.ts';
import { startEdge } from '../support/edge.ts';
import { send } from '../support/send.ts';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const { close } of opened.splice(0)) await close();
});

/** A server that answers with the JSON of the event that its handler gets. */
const startEcho = async (): Promise<string> => {
  const server = await startServer({
    ...{ port: 0, clock: systemClock, randomBytes, toEvent: deliveredEvent },
    handler: async (event, stream) => {
      awslambda.HttpResponseStream.from(stream, { statusCode: 200 }).end(JSON.stringify(event));
    },
  });
  opened.push(server);
  return server.url;
};

test('an event has the path as sent, separate from the query', async () => {
  const sent = await send(await startEcho(), '/v1/../a%2Fb?x=%zz&y');
  expect(JSON.parse(sent.text)).toMatchObject({
    version: '2.0',
    rawPath: '/v1/../a%2Fb',
    rawQueryString: 'x=%zz&y',
    requestContext: { http: { method: 'GET', path: '/v1/../a%2Fb' } },
    isBase64Encoded: false,
  });
});

test.each([
  ['text', 'application/json', '{"a":"é"}', '{"a":"é"}'],
  ['base64 for other types', 'image/png', 'abc', 'YWJj'],
  ['base64 for what is no text', 'application/json', Uint8Array.of(0xff), '/w=='],
])('an event holds the body as %s', async (kind, type, body, expected) => {
  const headers = { 'content-type': type };
  const sent = await send(await startEcho(), '/', { method: 'POST', headers, body });
  const event: APIGatewayProxyEventV2 = JSON.parse(sent.text);
  expect([event.body, event.isBase64Encoded]).toEqual([expected, kind !== 'text']);
});

test('an event over 6 MB never reaches the router, whether by its size or by its escapes', async () => {
  const edge = await startEdge({}, { toEvent: deliveredEvent });
  opened.push(edge);
  const headers = { 'content-type': 'application/json', 'x-api-key': edge.key };
  const post = (body: string) => send(edge.url, '/v1/messages', { method: 'POST', headers, body });
  for (const body of ['x'.repeat(6_291_457), '"'.repeat(3_200_000)]) {
    const sent = await post(body);
    expect(sent.status).toBe(413);
    expect(JSON.parse(sent.text)).toMatchObject({
      error: { message: 'The request is over 6 MB.' },
    });
  }
  expect((await post('"'.repeat(3_000_000))).status).toBe(400);
});
