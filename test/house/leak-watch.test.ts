import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { apiError } from '../../lambdas/support/errors.ts';
import { startEdge } from '../support/edge.ts';
import { CANARIES, takeLeaks, watchAnswers } from '../support/leak-watch.ts';
import { send } from '../support/send.ts';

const UPSTREAM = 'upstream.example:4321';

type Leak = { answer?: string; headers?: Record<string, string>; note?: Record<string, string> };

/** Leaks that the watch reports for a response, headers and log fields. */
const leaksOf = async (leak: (key: string) => Leak): Promise<string[]> => {
  const key = { current: '' };
  const edge = await startEdge({
    listModels: async ({ note }) => {
      const { answer = 'nothing', headers = {}, note: noted = {} } = leak(key.current);
      note(noted);
      throw apiError(answer, { status: 418, headers });
    },
  });
  onTestFinished(() => edge.close());
  key.current = edge.key;
  watchAnswers(edge.url, [UPSTREAM]);
  const sent = await send(edge.url, '/v1/models', { headers: { 'x-api-key': edge.key } });
  expect(sent.status).toBe(418);
  return takeLeaks();
};

test.each<[string, (key: string) => Leak, string]>([
  ["the caller's key in an answer", (key) => ({ answer: `no ${key}` }), 'answer: mrk_live_'],
  ["the caller's key in a header", (key) => ({ headers: { 'x-key': key } }), 'answer: mrk_live_'],
  ["the caller's key in a log line", (key) => ({ note: { model: key } }), 'log: mrk_live_'],
  ['an upstream key', () => ({ answer: CANARIES.upstreamKey }), 'answer: canary-upstream-key'],
  ['the host of an upstream', () => ({ answer: UPSTREAM }), `answer: ${UPSTREAM}`],
  ['a folder of the machine', () => ({ answer: `${process.cwd()}/x.ts` }), 'answer: /'],
  ['a stack', () => ({ answer: new Error('x').stack ?? '' }), 'answer: \\n    at'],
  ['a prompt in a log line', () => ({ note: { fault: CANARIES.prompt } }), 'log: {'],
  ['prose in a log field', () => ({ note: { model: 'tell me' } }), 'log field model: '],
  ['a log field that is not listed', () => ({ note: { body: 'x' } }), 'log field body: '],
])('the leak watch of all tests reports %s', async (_, leak, found) => {
  expect(await leaksOf(leak)).toContainEqual(expect.stringContaining(found));
});

test('the leak watch reports nothing for a clean response', async () => {
  expect(await leaksOf(() => ({ note: { model: 'vendor/model' } }))).toEqual([]);
});

test('the leak watch reports nothing for a server that has the port of a router before it', async () => {
  const edge = await startEdge({});
  watchAnswers(edge.url, []);
  await edge.close();
  const inside = createServer((_, response) => response.end(CANARIES.upstreamKey));
  onTestFinished(() => {
    inside.close();
  });
  inside.listen(Number(new URL(edge.url).port), '127.0.0.1');
  expect((await send(edge.url, '/')).text).toBe(CANARIES.upstreamKey);
  expect(takeLeaks()).toEqual([]);
});
