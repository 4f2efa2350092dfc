import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { Tiktoken } from 'js-tiktoken/lite';
import cl100k from 'js-tiktoken/ranks/cl100k_base';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { MINUTE_MS } from '../../../lambdas/support/clock.ts';
import { listen } from '../../../local/loopback.ts';
import { type Fleet, startFleet } from '../../support/fleet.ts';
import { CANARIES } from '../../support/leak-watch.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { send } from '../../support/send.ts';
import { chatWire } from '../../support/translate.ts';
import { readRequests } from '../catalog/counting/checking-texts.ts';
import { bodyOf, shareWithin } from '../catalog/counting/score.ts';

const tokenizer = new Tiktoken(cl100k);
const tokensOf = (text: string): number => tokenizer.encode(text, [], []).length;

type Sent = {
  messages: { content?: unknown; tool_calls?: unknown[]; name?: string }[];
  tools?: unknown[];
};

/** A provider's own prompt: a frame around each message, calls and tools as indented JSON behind a preamble of 210 tokens. */
const promptTokens = ({ messages, tools }: Sent): number => {
  const written = messages.map(({ content, tool_calls: calls = [] }) => {
    const text = typeof content === 'string' ? content : JSON.stringify(content ?? '');
    return tokensOf(text + calls.map((call) => JSON.stringify(call, undefined, 1)).join('\n')) + 9;
  });
  const list = tools?.map((tool) => JSON.stringify(tool, undefined, 2)).join('\n');
  const preamble = list ? 210 + tokensOf(list) : 0;
  return written.reduce((sum, tokens) => sum + tokens, 0) + preamble + 17;
};

/** What it reports instead of a true count. */
let lie: number | undefined;

const startProvider = () =>
  listen(
    createServer(async (request, response) => {
      const sent = (await json(request)) as Sent;
      const usage = { prompt_tokens: lie ?? promptTokens(sent), completion_tokens: 1 };
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(
          chatWire([
            { choices: [{ index: 0, delta: { content: 'ok' }, finish_reason: null }] },
            { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage },
          ]),
        );
    }),
  );

const bodies = readRequests().flatMap((composed) => {
  const request = callerProtocols.chat.decodeRequest(bodyOf(composed));
  const wire = { model: 'vendor/model', maxOutputTokens: 100 };
  const body = upstreamProtocols.messages.encodeRequest(request, wire);
  return JSON.stringify(body).length > 40_000 ? [] : [body];
});
const TAUGHT = 10;

const clock = createManualClock(Date.UTC(2026, 10, 24, 12));
let provider: Awaited<ReturnType<typeof startProvider>>;
let fleet: Fleet;
beforeAll(async () => {
  provider = await startProvider();
  const models = ['model', 'truth', 'liar'].map((name) =>
    // The name tells no tokenizer, as that of a deployment.
    modelOn([targetAt(provider.url, { upstream: name, model: 'my-deployment' })], {
      id: `vendor/${name}`,
    }),
  );
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey, size: 2 });
});
afterAll(async () => {
  await fleet.close();
  await provider.close();
});

const ask = async (router: number, path: string, body: object) => {
  const { status, text, headers } = await send(fleet.urls[router] ?? '', path, {
    method: 'POST',
    headers: { 'x-api-key': fleet.key },
    body: JSON.stringify(body),
  });
  expect(status).toBe(200);
  return { body: JSON.parse(text), by: headers['x-router-counted-by'] };
};

const generate = async (model: string, body: object): Promise<number> => {
  const answer = await ask(0, '/v1/messages', { ...body, model });
  return answer.body.usage.input_tokens;
};

const countAll = async (router: number, model: string, from = TAUGHT) => {
  const counts: { tokens: number; by: unknown }[] = [];
  for (const { stream, max_tokens, ...body } of bodies.slice(from)) {
    const counted = await ask(router, '/v1/messages/count_tokens', { ...body, model });
    counts.push({ tokens: counted.body.input_tokens, by: counted.by });
  }
  return counts;
};

describe('counts of a target whose tokenizer and template are unknown', () => {
  const truth: number[] = [];
  const errorsOf = (counts: { tokens: number }[]): number[] =>
    counts.map(({ tokens }, index) => tokens / (truth[TAUGHT + index] ?? 1) - 1);

  test('after ten answers 95 % of other requests are counted within 5 %, in every environment, and the header states it', async () => {
    for (const body of bodies) truth.push(await generate('vendor/truth', body));
    const before = await countAll(0, 'vendor/model');
    await countAll(1, 'vendor/model', bodies.length - 1);
    expect(new Set(before.map(({ by }) => by))).toEqual(new Set(['estimate']));
    expect(shareWithin(errorsOf(before), 0.05)).toBeLessThan(0.5);
    for (const body of bodies.slice(0, TAUGHT)) await generate('vendor/model', body);
    const after = await countAll(0, 'vendor/model');
    expect(new Set(after.map(({ by }) => by))).toEqual(new Set(['calibrated']));
    expect(shareWithin(errorsOf(after), 0.05)).toBeGreaterThanOrEqual(0.95);
    clock.advance(11 * MINUTE_MS);
    expect(await countAll(1, 'vendor/model')).toEqual(after);
  });

  test('a provider that reports counts of another kind twice in twelve answers moves no count by more than 2 %', async () => {
    const before = await countAll(0, 'vendor/model');
    for (const factor of [0.5, 1.9]) {
      clock.advance(11 * MINUTE_MS);
      lie = Math.round(factor * (truth.at(-1) ?? 0));
      await generate('vendor/model', bodies.at(-1) ?? {});
    }
    lie = undefined;
    expect(await fleet.stores.receipts.readReceipts('chat:model/my-deployment')).toHaveLength(12);
    const after = await countAll(0, 'vendor/model');
    const moved = after.map(({ tokens }, index) => tokens / (before[index]?.tokens ?? 1) - 1);
    expect(Math.max(...moved.map(Math.abs))).toBeLessThan(0.02);
  });

  test('a provider that reports nonsense corrects nothing', async () => {
    lie = 7;
    for (const body of bodies.slice(0, 12)) await generate('vendor/liar', body);
    lie = undefined;
    const counts = await countAll(0, 'vendor/liar', bodies.length - 3);
    expect(counts.map(({ by }) => by)).toEqual(['estimate', 'estimate', 'estimate']);
  });
});
