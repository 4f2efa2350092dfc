import zlib, { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Edge, startEdge } from '../../support/edge.ts';
import { functionUrlEvent } from '../../support/function-url-event.ts';
import { restApiEvent } from '../../support/rest-api-event.ts';
import { type Sent, send } from '../../support/send.ts';

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';

const REQUEST_ID = /^req_[0-9A-Za-z]{24}$/;

/** Every answer, of whatever kind, names its request twice over. */
const expectIds = ({ headers }: Sent) => {
  expect(headers['x-request-id']).toMatch(REQUEST_ID);
  expect(headers['request-id']).toBe(headers['x-request-id']);
  if (`${headers['content-type']}`.includes('json')) {
    expect(headers['x-content-type-options']).toBe('nosniff');
  }
};

const errorOf = ({ text }: Sent): { type: string; message: string } => JSON.parse(text).error;

const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
const padded = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`;

const BOMB = gzipSync(Buffer.alloc(200_000_000));

describe.each([
  ['a Function URL', functionUrlEvent],
  ['a REST API', restApiEvent],
  ['a Web Function', undefined],
])('behind %s', (_, toEvent) => {
  let edge: Edge;
  beforeAll(async () => {
    edge = await startEdge({}, { ...(toEvent && { toEvent }) });
  });
  afterAll(() => edge.close());

  const get = (path: string, method = 'GET') =>
    send(edge.url, path, { method, headers: { 'x-api-key': edge.key } });
  const post = (
    body: string | Uint8Array,
    headers: Record<string, string> = {},
    path: string = CHAT,
  ) =>
    send(edge.url, path, { method: 'POST', headers: { 'x-api-key': edge.key, ...headers }, body });

  describe('paths and methods', () => {
    test.each([
      ['GET', '/v1/models', 200],
      ['GET', '/v1/models?limit=1000&x=%zz', 200],
      ['GET', '/v1/models/vendor/name', 200],
      ['GET', '/v1/models/vendor%2Fname', 200],
      ['GET', '/', 200],
      ['GET', '/api/hello', 200],
      ['GET', CHAT, 405],
      ['PUT', MESSAGES, 405],
      ['DELETE', '/v1/models', 405],
      ['POST', '/v1/models', 405],
      ['POST', '/', 405],
      ['HEAD', CHAT, 405],
      ['GET', '/v1/models/', 200],
      ['GET', '//v1//models', 200],
      ['POST', '/models', 405],
      ['GET', '/v1%2Fmodels', 404],
      ['GET', '/v1/%zz', 404],
      ['GET', '/v1/models/%zz', 404],
      ['GET', '/v1/../v1/models', 404],
      ['GET', '/V1/MODELS', 404],
      ['GET', '/v1', 404],
      ['GET', `/${'a'.repeat(8000)}`, 404],
      ['OPTIONS', '/v2/models', 404],
    ])('%s %s answers %d', async (method, path, status) => {
      const sent = await get(path, method);
      expect(sent.status).toBe(status);
      expectIds(sent);
      if (status >= 400 && method !== 'HEAD') {
        expect(errorOf(sent).type).toBe('invalid_request_error');
      }
    });

    test.each([
      ['/v1/v1/completion', 'This service has /v1/chat/completions'],
      ['/v1/responses/compact', 'Compaction is not offered'],
      ['/v1/completions', 'POST /v1/chat/completions'],
      ['//v1/message/', 'This service has /v1/chat/completions'],
      ['/v1/rerank', '/v1/messages/count_tokens'],
      ['/v1/embeddings', 'Embeddings are not offered'],
      ['/openai/deployments/vendor/name/embeddings', 'Embeddings are not offered'],
      ['/v1/moderations', 'Moderations are not offered'],
      ['/v1/images/generations', 'Image generation is not offered'],
      ['/v1/audio/speech', 'Speech and transcription are not offered'],
      ['/v1/files', 'Files are not stored'],
      ['/v1/batches/batch_1/cancel', 'POST /v1/chat/completions'],
      ['/anthropic/v1/messages/batches', 'POST /v1/messages'],
    ])('a call of %s gets an error with what to do instead', async (path, hint) => {
      expect(errorOf(await post('{}', {}, path)).message).toContain(hint);
    });

    test.each([
      ['/v1/models', 'GET, HEAD, OPTIONS'],
      [MESSAGES, 'POST, OPTIONS'],
      ['/v1/responses/input_tokens', 'POST, OPTIONS'],
    ])('%s says which methods it takes', async (path, allow) => {
      const refused = await get(path, 'PATCH');
      expect(refused.status).toBe(405);
      expect(refused.headers.allow).toBe(allow);
      expect(edge.lines.at(-1)).toMatchObject({ status: 405, route: path });

      const options = await get(path, 'OPTIONS');
      expect(options).toMatchObject({ status: 204, text: '' });
      expect(options.headers.allow).toBe(allow);
      expect(options.headers).not.toHaveProperty('access-control-allow-origin');
      expectIds(options);
    });

    test('a WebSocket on /v1/responses gets 426 with what to do instead, and on no other path', async () => {
      const open = (path: string, method = 'GET') =>
        send(edge.url, path, {
          method,
          headers: {
            ...{ connection: 'Upgrade', upgrade: 'WebSocket', 'sec-websocket-version': '13' },
            'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
          },
        });
      const refused = await open('/v1/responses');
      expect(refused).toMatchObject({ status: 426, headers: { upgrade: 'websocket' } });
      expect(refused.headers.connection).toBe('Upgrade, close');
      expect(JSON.parse(refused.text)).toEqual({
        error: {
          type: 'invalid_request_error',
          message: expect.stringContaining('WebSockets are not offered'),
          param: null,
          code: null,
        },
      });
      expectIds(refused);
      expect(edge.lines.at(-1)).toMatchObject({ status: 426, route: '/v1/responses' });
      expect((await open('/openai/v1/responses/')).status).toBe(426);
      expect((await open(CHAT)).status).toBe(405);
      expect((await open('/v1/responses/input_tokens')).status).toBe(405);
      expect((await open('/v1/responses', 'OPTIONS')).status).toBe(204);
      expect((await get('/v1/responses')).status).toBe(405);
    });

    test('compaction is not found with any method, though it looks like the id of a response', async () => {
      expect((await post('{}', {}, '/v1/responses/compact')).status).toBe(404);
      expect((await get('/v1/responses/compact', 'DELETE')).status).toBe(404);
    });

    test.each(['/', '/api/hello', '/v1/models'])('HEAD %s is GET without a body', async (path) => {
      const head = await get(path, 'HEAD');
      expect(head).toMatchObject({ status: 200, text: '' });
      expect(head.headers['content-type']).toBe('application/json');
      expectIds(head);
    });

    test('a model id with a slash reaches the endpoint whole, plain or encoded', async () => {
      for (const path of ['/v1/models/vendor/name', '/v1/models/vendor%2Fname?x=1']) {
        expect(JSON.parse((await get(path)).text).pathParameter).toBe('vendor/name');
      }
    });

    test.each([
      ['/chat/completions', 'chat'],
      ['/v1/v1/chat/completions', 'chat'],
      ['//v1//chat/completions//', 'chat'],
      ['/openai/v1/chat/completions', 'chat'],
      ['/api/v1/chat/completions/', 'chat'],
      ['/messages', 'messages'],
      ['/v1/v1/messages', 'messages'],
      ['/anthropic/v1/messages?beta=true', 'messages'],
      ['/api/anthropic/messages/', 'messages'],
      ['/responses', 'responses'],
      ['/v1/v1/responses', 'responses'],
      ['//v1//responses/', 'responses'],
      ['/openai/v1/responses', 'responses'],
      ['/openai/responses?api-version=2025-04-01-preview', 'responses'],
      ['/api/v1/responses', 'responses'],
    ] as const)(
      'POST %s is served as %s, and logged by the pattern of its route',
      async (path, family) => {
        const sent = await post('{"model":"vendor/name"}', {}, path);
        expect(JSON.parse(sent.text)).toMatchObject({ family, body: { model: 'vendor/name' } });
        const route = { chat: CHAT, messages: MESSAGES, responses: '/v1/responses' }[family];
        expect(edge.lines.at(-1)).toMatchObject({ status: 200, route });
      },
    );

    test.each([
      [
        '/openai/deployments/vendor/name/chat/completions?api-version=2024-10-21',
        {},
        'vendor/name',
      ],
      ['/openai/deployments/vendor%2Fname/chat/completions', {}, 'vendor/name'],
      ['/deployments/name/chat/completions', { model: null }, 'name'],
      ['/openai/deployments/name/chat/completions', { model: 'vendor/other' }, 'vendor/other'],
      ['/openai/deployments/vendor/name/responses', {}, 'vendor/name'],
    ])('POST %s with the body %j asks for the model %s', async (path, body, model) => {
      const sent = await send(edge.url, path, {
        method: 'POST',
        headers: { 'api-key': edge.key },
        body: JSON.stringify(body),
      });
      const route = path.endsWith('/responses') ? '/v1/responses' : CHAT;
      expect(JSON.parse(sent.text)).toMatchObject({ body: { model } });
      expect(edge.lines.at(-1)).toMatchObject({ status: 200, route });
      expect(edge.logText()).not.toContain('deployments');
    });

    test('a greeting needs no key, every other path does', async () => {
      expect((await send(edge.url, '/')).status).toBe(200);
      const refused = await send(edge.url, '/v1/models');
      expect(refused.status).toBe(401);
      expect(refused.headers['x-should-retry']).toBe('false');
      expectIds(refused);
    });
  });

  describe('envelopes', () => {
    test.each([
      [401, 'POST', ''],
      [405, 'PUT', ''],
      [404, 'POST', '/batches'],
    ])('the family of the path shapes a %d', async (status, method, tail) => {
      const sent = await send(edge.url, `${MESSAGES}${tail}`, { method });
      expect(sent.status).toBe(status);
      expect(JSON.parse(sent.text)).toMatchObject({
        type: 'error',
        error: { type: expect.any(String), message: expect.any(String) },
        request_id: sent.headers['x-request-id'],
      });
      const chat = await send(edge.url, `${CHAT}${tail}`, { method });
      expect(chat.status).toBe(status);
      expect(JSON.parse(chat.text)).not.toHaveProperty('type');
    });

    test.each([
      [413, padded(5_500_001), 'application/json'],
      [415, '{}', 'text/plain'],
      [400, '{', 'application/json'],
    ])('a %d of the body has the envelope of messages', async (status, body, type) => {
      const sent = await post(body, { 'content-type': type }, MESSAGES);
      expect(sent.status).toBe(status);
      expect(JSON.parse(sent.text).type).toBe('error');
    });

    test('a wrong path gets 404 before a missing key, and a missing key 401 before a bad body', async () => {
      const wrongPath = await send(edge.url, '/nowhere', { method: 'POST', body: '{' });
      const noKey = await send(edge.url, CHAT, { method: 'POST', body: '{' });
      expect([wrongPath.status, noKey.status]).toEqual([404, 401]);
    });
  });

  describe('bodies', () => {
    test.each([
      ['without a content type', {}],
      ['as JSON', { 'content-type': 'application/json' }],
      ['in other letters', { 'content-type': 'Application/JSON; Charset="UTF-8"' }],
      ['as a kind of JSON', { 'content-type': 'application/vnd.api+json' }],
      ['with an identity encoding', { 'content-encoding': 'identity' }],
      ['with a dated version', { 'anthropic-version': '2026-10-21' }],
      ['with unknown betas', { 'anthropic-beta': 'no-such-beta-2030-01-01' }],
      ['with an id of its own', { 'x-request-id': 'mine' }],
      ['for HTML', { accept: 'text/html' }],
    ])('a body %s is accepted', async (_name, headers) => {
      const sent = await post('{"text":"é𝄞"}', headers, MESSAGES);
      expect(sent.status).toBe(200);
      expect(JSON.parse(sent.text)).toMatchObject({ body: { text: 'é𝄞' }, bodyBytes: 17 });
      expectIds(sent);
    });

    test.each([
      [415, { 'content-type': 'text/plain' }],
      [415, { 'content-type': 'multipart/form-data; boundary=x' }],
      [415, { 'content-type': 'application/x-www-form-urlencoded' }],
      [415, { 'content-type': 'application/json; charset=utf-16' }],
      [415, { 'content-encoding': 'br' }],
      [400, { 'content-encoding': 'gzip' }],
      [400, { 'content-encoding': 'zstd' }],
    ])('a body is rejected with %i for %j', async (status, headers) => {
      const sent = await post('{}', headers);
      expect(sent.status).toBe(status);
      expect(errorOf(sent).type).toBe('invalid_request_error');
    });

    test.each(['latest', '', '2026-1-1', '2026-10-21, 2026-10-21'])(
      "a version '%s' is a 400 on paths of messages only",
      async (version) => {
        const headers = { 'anthropic-version': version };
        expect((await post('{}', headers, MESSAGES)).status).toBe(400);
        expect((await post('{}', headers, `${MESSAGES}/count_tokens`)).status).toBe(400);
        expect((await post('{}', headers, CHAT)).status).toBe(200);
      },
    );

    test('a body over 5,500,000 bytes is a 413', async () => {
      const json = { 'content-type': 'application/json' };
      expect((await post(padded(5_500_000), json)).status).toBe(200);
      expect((await post(padded(5_500_001), json)).status).toBe(413);
    });

    test.each([
      ['gzip', gzipSync],
      ['zstd', zstdCompressSync],
    ])('a %s body is decoded up to the limit of 5,500,000 bytes', async (coding, encode) => {
      const headers = { 'content-encoding': coding, 'content-type': 'application/json' };
      const small = await post(encode('{"a":1}'), headers);
      expect(JSON.parse(small.text)).toMatchObject({ body: { a: 1 }, bodyBytes: 7 });
      const statuses: number[] = [];
      for (const bytes of [5_500_000, 5_500_001]) {
        statuses.push((await post(encode(padded(bytes)), headers)).status);
      }
      expect(statuses).toEqual([200, 413]);
    });

    test('a gzip bomb is a 413', async () => {
      // Not the memory of the process, which is that of the tests in other threads, too.
      const pushed = vi.spyOn(zlib.Gunzip.prototype, 'push');
      onTestFinished(() => pushed.mockRestore());
      expect((await post(BOMB, { 'content-encoding': 'gzip' })).status).toBe(413);
      const inflated = pushed.mock.calls.reduce((sum, [piece]) => sum + piece.length, 0);
      expect(inflated).toBeGreaterThan(5_500_000);
      expect(inflated).toBeLessThan(6_000_000);
    });

    test('a byte order mark is skipped', async () => {
      expect(JSON.parse((await post('\uFEFF{"a":1}')).text).body).toEqual({ a: 1 });
    });

    test.each([
      ['nothing', ''],
      ['white space', ' \n\t '],
      ['an open brace', '{'],
      ['an array', '[]'],
      ['null', 'null'],
      ['a number', '1'],
      ['a text', '"x"'],
      ['two objects', '{}{}'],
      ['a trailing comma', '{"a":1,}'],
      ['a comment', '{} // x'],
      ['single quotes', "{'a':1}"],
      ['NaN', '{"a":NaN}'],
      ['a raw line break in a text', '{"a":"\n"}'],
      ['invalid UTF-8', Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d)],
      ['an overlong slash', Uint8Array.of(0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x7d)],
      ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
      ['half a surrogate pair', String.raw`{"a":"\ud83d"}`],
      ['the other half', String.raw`{"a":"\\\uDE00"}`],
      ['65 levels', nested(65)],
      ['a closing and a million opening brackets', `]${'['.repeat(1_000_000)}`],
    ])('%s is a 400', async (_name, body) => {
      const sent = await post(body, { 'content-type': 'application/json' });
      expect(sent.status).toBe(400);
      expect(errorOf(sent).type).toBe('invalid_request_error');
      expectIds(sent);
    });

    test('a body of 64 levels is accepted, and brackets inside strings do not count', async () => {
      expect((await post(nested(64))).status).toBe(200);
      expect((await post(JSON.stringify({ a: `\\"${'['.repeat(1000)}` }))).status).toBe(200);
    });

    test('surrogate pairs and escaped backslashes before a u are accepted', async () => {
      const sent = await post(String.raw`{"a":"\ud83d\ude00","b":"\\ud83d"}`);
      expect(JSON.parse(sent.text).body).toEqual({ a: '😀', b: String.raw`\ud83d` });
    });

    test('an invalid body is never quoted in the error', async () => {
      const sent = await post('{"prompt":"canary-4711",}');
      expect(sent.text).not.toContain('canary');
      expect(edge.logText()).not.toContain('canary');
    });

    test.each([
      '{"__proto__":{"x":1},"a":{"__proto__":{"x":1}}}',
      '{"\\u005f_proto__":{"x":1},"a":{}}',
      '{"__\\u0070roto__":{"x":1},"a":{}}',
    ])('the key __proto__ neither pollutes nor passes: %s', async (body) => {
      const sent = await post(body);
      expect(sent.text).not.toContain('proto');
      expect(JSON.parse(sent.text).body).toEqual({ a: {} });
      expect({}).not.toHaveProperty('x');
    });

    test('the last of two equal keys is used', async () => {
      expect(JSON.parse((await post('{"a":1,"a":2}')).text).body).toEqual({ a: 2 });
    });
  });
});

describe.each(['', '/llm', '/team/llm'])('behind a base path mapping "%s"', (mapping) => {
  let edge: Edge;
  beforeAll(async () => {
    // API Gateway percent-decodes path parameters, and keeps the mapping in `path`.
    const toEvent: typeof restApiEvent = (...request) => {
      const event = restApiEvent(...request);
      const below = event.path.slice(mapping.length);
      return ['', '/'].includes(below)
        ? { ...event, resource: '/' }
        : { ...event, pathParameters: { proxy: decodeURIComponent(below.slice(1)) } };
    };
    edge = await startEdge({}, { toEvent });
  });
  afterAll(() => edge.close());

  test.each([
    ['GET', '/', 200],
    ['GET', '/v1/models', 200],
    ['GET', '/v1/models/vendor/name', 200],
    ['GET', '/v1/models/vendor%2Fname', 200],
    ['POST', MESSAGES, 200],
    ['GET', '/v1/nowhere', 404],
    ['GET', '/llm/v1/models', 404],
  ])(`a mapping "${mapping}" serves %s %s with %i`, async (method, path, status) => {
    const sent = await send(edge.url, `${mapping}${path}`, {
      method,
      headers: { 'x-api-key': edge.key },
      ...(method === 'POST' && { body: '{}' }),
    });
    expect(sent.status).toBe(status);
    if (path.includes('vendor')) expect(JSON.parse(sent.text).pathParameter).toBe('vendor/name');
    if (path === MESSAGES) expect(JSON.parse(sent.text).family).toBe('messages');
  });

  test(`a mapping "${mapping}" serves its root`, async () => {
    expect((await send(edge.url, mapping || '/')).status).toBe(200);
  });
});
