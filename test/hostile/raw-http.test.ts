import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Edge, startEdge } from '../support/edge.ts';
import { functionUrlEvent } from '../support/function-url-event.ts';
import { connectTo, postBytes } from '../support/raw-client.ts';
import { restApiEvent } from '../support/rest-api-event.ts';
import { send } from '../support/send.ts';

describe('odd ways to send a good request', () => {
  let edge: Edge;
  beforeAll(async () => {
    edge = await startEdge();
  });
  afterAll(() => edge.close());

  /** All that comes back until the connection ends, or until `count` answers have begun. */
  const exchange = async (bytes: string, count: number): Promise<string> => {
    const { socket, received, closed } = await connectTo(edge.url);
    socket.write(bytes);
    const answers = expect.poll(() => received().match(/^HTTP\/1\.1 [2-5]/gm)?.length ?? 0);
    await Promise.race([closed, answers.toBe(count)]);
    socket.destroy();
    return received();
  };
  const statusesOf = (text: string) =>
    [...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));
  const get = (path: string, version = '1.1') =>
    `GET ${path} HTTP/${version}\r\nhost: a\r\nx-api-key: ${edge.key}\r\n\r\n`;

  test('81 HTTP/1.0 is answered', async () => {
    expect(statusesOf(await exchange(get('/v1/models', '1.0'), 1))).toEqual([200]);
  });

  test('83 pipelined requests are answered in order', async () => {
    const paths = ['/v1/models', '/nothing', '/', '/v1/models/a/b'];
    const text = await exchange(paths.map((path) => get(path)).join(''), paths.length);
    expect(statusesOf(text)).toEqual([200, 404, 200, 200]);
    expect(new Set(text.match(/^x-request-id: .+$/gm)).size).toBe(paths.length);
  });

  test('80 a client that asks whether to go on is told to', async () => {
    const bytes = postBytes('/v1/messages', edge.key, {});
    const text = await exchange(bytes.replace('\r\n', '\r\nexpect: 100-continue\r\n'), 1);
    expect(statusesOf(text)).toEqual([100, 200]);
  });

  test('a body in chunks of one byte is a body', async () => {
    const head = postBytes('/v1/messages', edge.key, {}).split('content-length')[0];
    const chunks = [...'{"a":"b"}'].map((byte) => `1\r\n${byte}\r\n`).join('');
    const text = await exchange(`${head}transfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`, 1);
    expect(statusesOf(text)).toEqual([200]);
    expect(text).toContain('"body":{"a":"b"}');
  });

  test('79 endless chunk extensions are refused', async () => {
    const head = postBytes('/v1/messages', edge.key, {}).split('content-length')[0];
    const flood = `1;${'x'.repeat(40_000)}`;
    const text = await exchange(`${head}transfer-encoding: chunked\r\n\r\n${flood}`, 1);
    expect(statusesOf(text)).toEqual([400]);
    expect(text).toMatch(/^x-request-id: req_\w{24}\r$/m);
  });
});

describe.each([
  ['a Function URL', functionUrlEvent],
  ['a REST API', restApiEvent],
] as const)('an event of %s with a body in base64', (_, toEvent) => {
  /** What becomes of a body that the event holds as `body`. */
  const post = async (body: string) => {
    const edge = await startEdge(
      {},
      {
        toEvent: (request, bytes, now) => ({
          ...toEvent(request, bytes, now),
          body,
          isBase64Encoded: true,
        }),
      },
    );
    const headers = { 'x-api-key': edge.key, 'content-type': 'application/json' };
    const sent = await send(edge.url, '/v1/messages', { method: 'POST', headers, body: '{}' });
    await edge.close();
    return sent;
  };

  test('66 is read', async () => {
    const sent = await post(Buffer.from('{"a":"é"}').toString('base64'));
    expect(sent.status).toBe(200);
    expect(JSON.parse(sent.text)).toMatchObject({ body: { a: 'é' } });
  });

  test.each(['!!!', '////', 'é'])('67 that is none is refused: %s', async (body) => {
    const sent = await post(body);
    expect(sent.status).toBe(400);
    expect(JSON.parse(sent.text).error.type).toBe('invalid_request_error');
  });
});
