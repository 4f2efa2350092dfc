import { expect, onTestFinished, test } from 'vitest';
import { UpstreamError } from '../../../lambdas/protocols/rejections/upstream-error.ts';
import { apiError } from '../../../lambdas/support/errors.ts';
import { startEdge } from '../../support/edge.ts';
import { send } from '../../support/send.ts';

const failWith = async (error: unknown) => {
  const edge = await startEdge({
    listModels: () => Promise.reject(error),
  });
  onTestFinished(() => edge.close());
  const sent = await send(edge.url, '/v1/models', { headers: { 'x-api-key': edge.key } });
  return { edge, sent };
};

test('a bug answers 500 with a request id, and only its kind and place reach the log', async () => {
  const { edge, sent } = await failWith(new TypeError('canary'));
  expect(sent.status).toBe(500);
  expect(JSON.parse(sent.text).error.type).toBe('api_error');
  expect(sent.headers['x-request-id']).toMatch(/^req_/);
  expect(sent.text + edge.logText()).not.toContain('canary');
  expect(edge.lines).toContainEqual({
    level: 'error',
    event: 'request_failed',
    requestId: sent.headers['x-request-id'],
    failure: 'TypeError',
    origin: expect.stringMatching(/^failures\.test\.ts(?:\?vitest=\d+)?:\d+:\d+$/),
  });
});

test('a line of a message that looks like a stack frame does not reach the log', async () => {
  const { edge } = await failWith(new TypeError('at first\n    at canary:1:1\nand more'));
  expect(edge.logText()).not.toContain('canary');
  expect(edge.lines).toContainEqual(
    expect.objectContaining({
      failure: 'TypeError',
      origin: expect.stringMatching(/^failures\.test\.ts(?:\?vitest=\d+)?:\d+:\d+$/),
    }),
  );
});

test('the chain of causes is logged by names, kinds and statuses', async () => {
  const fault = new UpstreamError('status', 'canary', { status: 503 });
  const { edge, sent } = await failWith(
    apiError('The upstream failed.', {
      status: 502,
      headers: { 'retry-after': '7' },
      cause: fault,
    }),
  );
  expect(sent.status).toBe(502);
  expect(sent.headers['retry-after']).toBe('7');
  expect(edge.lines).toContainEqual(
    expect.objectContaining({ failure: 'ApiError(502) < UpstreamError(status 503)' }),
  );
  expect(edge.logText()).not.toContain('canary');
});

test.each([undefined, null, 'canary', { canary: 1 }])(
  'a thrown %j is a 500 too',
  async (thrown) => {
    const { edge, sent } = await failWith(thrown);
    expect(sent.status).toBe(500);
    expect(sent.text + edge.logText()).not.toContain('canary');
  },
);

test('a path is logged as the pattern it matched, never as it was sent', async () => {
  const edge = await startEdge();
  onTestFinished(() => edge.close());
  const headers = { 'x-api-key': edge.key };
  await send(edge.url, '/v1/models/canary/1?canary=2', { headers });
  await send(edge.url, '/v1/canary', { headers });
  expect(edge.lines.map(({ route, status }) => [route, status])).toEqual([
    ['/v1/models/{id}', 200],
    [undefined, 404],
  ]);
  expect(edge.logText()).not.toContain('canary');
  expect(edge.logText()).not.toContain(edge.key);
});
