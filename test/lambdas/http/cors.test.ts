import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Edge, startEdge } from '../../support/edge.ts';
import { functionUrlEvent } from '../../support/function-url-event.ts';
import { restApiEvent } from '../../support/rest-api-event.ts';
import { send } from '../../support/send.ts';

const ALLOWED = 'https://app.example';
const CHAT = '/v1/chat/completions';

const preflight = (edge: Edge, origin: string) =>
  send(edge.url, CHAT, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    },
  });

describe.each([
  ['a Function URL', functionUrlEvent],
  ['a REST API', restApiEvent],
  ['a Web Function', undefined],
])('CORS behind %s', (_, toEvent) => {
  let edge: Edge;
  beforeAll(async () => {
    edge = await startEdge(
      {},
      { ...(toEvent && { toEvent }) },
      { corsOrigins: [ALLOWED, 'http://localhost:5173'] },
    );
  });
  afterAll(() => edge.close());

  test.each([ALLOWED, 'http://localhost:5173'])(
    'a preflight from the listed origin %s is allowed without a key',
    async (origin) => {
      const { status, headers } = await preflight(edge, origin);
      expect(status).toBe(204);
      expect(headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'POST, OPTIONS',
        'access-control-allow-headers': 'authorization,content-type',
        'access-control-max-age': '600',
        vary: 'origin',
      });
      expect(headers).not.toHaveProperty('access-control-allow-credentials');
    },
  );

  test.each(['https://evil.example', 'https://app.example.evil', 'http://app.example', 'null'])(
    'a preflight from the unlisted origin %s gets no CORS header',
    async (origin) => {
      const { headers } = await preflight(edge, origin);
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
      expect(headers.vary).toBe('origin');
    },
  );

  test.each([
    ['200', 200, (key: string) => ({ 'x-api-key': key })],
    ['401', 401, () => ({ 'x-api-key': 'wrong' })],
  ])('a page of a listed origin may read a %s and its request id', async (_name, status, auth) => {
    const headers = { origin: ALLOWED, ...auth(edge.key) };
    const sent = await send(edge.url, CHAT, { method: 'POST', headers, body: '{}' });
    expect(sent.status).toBe(status);
    expect(sent.headers['access-control-allow-origin']).toBe(ALLOWED);
    expect(sent.headers['access-control-expose-headers']).toContain('x-request-id');
  });
});

test('without listed origins no reply has a CORS header', async () => {
  const edge = await startEdge();
  const { status, headers } = await preflight(edge, ALLOWED);
  await edge.close();
  expect(status).toBe(204);
  expect(headers).not.toHaveProperty('access-control-allow-origin');
  expect(headers).not.toHaveProperty('vary');
});
