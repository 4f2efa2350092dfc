import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { type Listening, listen } from '../../local/loopback.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { CREATED_AT } from '../support/strict-upstream/responses-response.ts';

/** What providers sent, by the end of the path of its protocol. */
const RECORDED = {
  '/chat/completions': 'openai-text-with-usage-chunk/upstream.chat.sse',
  '/messages': 'anthropic-text/upstream.messages.sse',
  '/responses': 'gpt-responses-text/upstream.responses.sse',
};

/** The same, each member of a message's JSON in a `data:` line. */
const bodyFor = (path: string, lineEnd: string): string => {
  const [, file = ''] = Object.entries(RECORDED).find(([end]) => path.endsWith(end)) ?? [];
  return readFileSync(new URL(`../fixtures/streams/${file}`, import.meta.url), 'utf8')
    .replaceAll(/(?<="created_at":)\d+/g, String(CREATED_AT))
    .replaceAll(',"', ',\ndata: "')
    .replaceAll('\n', lineEnd);
};

let upstream: Listening;
let fleet: Fleet;
beforeAll(async () => {
  upstream = await listen(
    createServer((request, response) => {
      const path = request.url ?? '';
      request.resume().once('end', () => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(bodyFor(path, path.startsWith('/crlf') ? '\r\n' : '\n'));
      });
    }),
  );
  const models = ['lf', 'crlf'].flatMap((ends) =>
    (['chat', 'messages', 'responses'] as const).map((protocol) =>
      modelOn(
        [targetAt(`${upstream.url}/${ends}`, { protocol, upstream: `${ends}-${protocol}` })],
        { id: `${ends}/${protocol}` },
      ),
    ),
  );
  fleet = await startFleet({ models, clock: systemClock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const messages = [{ role: 'user' as const, content: 'hi' }];
const connection = () => ({ baseURL: `${fleet.urls[0]}/v1`, apiKey: fleet.key, maxRetries: 0 });
const openai = () => new OpenAI(connection());
const CALLERS = {
  chat: async (model: string) => {
    const stream = openai().chat.completions.stream({ model, messages });
    return (await stream.finalChatCompletion()).choices[0]?.message.content;
  },
  messages: (model: string) =>
    new Anthropic({ ...connection(), baseURL: fleet.urls[0] ?? '' }).messages
      .stream({ model, messages, max_tokens: 100 })
      .finalText(),
  responses: async (model: string) => {
    const stream = openai().responses.stream({ model, input: 'hi' });
    return (await stream.finalResponse()).output_text;
  },
};

const CELLS = Object.keys(CALLERS).flatMap((caller) =>
  ['lf', 'crlf'].flatMap((ends) =>
    Object.keys(CALLERS).map((protocol) => ({ caller, model: `${ends}/${protocol}` })),
  ),
) as { caller: keyof typeof CALLERS; model: string }[];

test.each(CELLS)(
  'the SDK of $caller reads a stream of $model whose JSON the provider spreads over several lines',
  async ({ caller, model }) => {
    expect(await CALLERS[caller](model)).toBe(
      model.endsWith('responses') ? 'Größe: 1/2.' : 'Héllo 世界 🌍',
    );
  },
);
