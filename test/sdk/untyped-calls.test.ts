import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import OpenAI from 'openai';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { listen } from '../../local/loopback.ts';
import { startFleet } from '../support/fleet.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';

const RECORDED = '../fixtures/streams/mistral-text-tools-and-finish-in-one-chunk/upstream.chat.sse';

test("the OpenAI SDK puts a stream's calls together that a provider sends without their type", async () => {
  const text = readFileSync(new URL(RECORDED, import.meta.url));
  const upstream = await listen(
    createServer((request, response) => {
      request.resume().once('end', () => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
      });
    }),
  );
  onTestFinished(upstream.close);
  const models = [modelOn([targetAt(upstream.url)])];
  const fleet = await startFleet({ models, clock: systemClock, secret: CANARIES.upstreamKey });
  onTestFinished(fleet.close);
  const openai = new OpenAI({
    ...{ baseURL: `${fleet.urls[0]}/v1`, apiKey: fleet.key, maxRetries: 0 },
  });
  const stream = openai.chat.completions.stream({
    model: models[0]?.id ?? '',
    messages: [{ role: 'user', content: 'hi' }],
    tools: ['weather', 'time'].map((name) => ({ type: 'function', function: { name } })),
  });
  const { choices } = await stream.finalChatCompletion();
  expect(choices[0]?.message.tool_calls).toMatchObject([
    { type: 'function', function: { name: 'weather', arguments: '{"city": "Oslo"}' } },
    { type: 'function', function: { name: 'time', arguments: '{}' } },
  ]);
});
