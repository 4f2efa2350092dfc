import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { type Listening, listen } from '../../local/loopback.ts';
import { type StallMeter, startStallMeter } from '../fuzz/stall-meter.ts';
import { besideBystander } from '../support/bystander.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { answer } from '../support/fleet-upstream.ts';
import {
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { sample } from '../support/seeds.ts';
import { send } from '../support/send.ts';
import { chatWire } from '../support/translate.ts';
import { ENDLESS, type Endless, endlessOf, GROWN } from './growth/inputs.ts';
import { TANGLED } from './growth/tangled.ts';

const PATHS = { chat: '/v1/chat/completions', messages: '/v1/messages' };
/** The end of what has no end: without a limit the router takes all of it. */
const MOST_SENT_BYTES = 48_000_000;
/** What a router may take of an answer that was asked for with 100 tokens, buffers of the kernel included. */
const MOST_TAKEN_BYTES = 16_000_000;
/** CPU time of this thread, twenty times what an endless answer takes. */
const SLOW_MS = 2_000;

/**
 * A backstop for stalls of seconds: this thread is the client and the upstream of megabytes too. The 200 ms of
 * the router alone are measured by the soaks.
 */
const MAX_TURN_MS = 1_000;

let sent = 0;

/** Writes pieces until the connection is closed, or there have been enough of them. */
const flood = async (response: ServerResponse, { opening, piece }: Endless) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(opening);
  for (let index = 0; sent < MOST_SENT_BYTES && !response.destroyed; index += 1) {
    const bytes = Buffer.from(piece(index));
    sent += bytes.byteLength;
    if (response.write(bytes)) continue;
    const stop = new AbortController();
    const { signal } = stop;
    await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
    stop.abort();
  }
  response.destroy();
};

const LISTS = 25_000;
/** Members of an item that grows. */
const NOTES = 2_500;

/** A whole answer of many tool calls without ids. */
const sendCalls = (response: ServerResponse) => {
  const tool_calls = new Array(70_000).fill({
    type: 'function',
    function: { name: 'read', arguments: '{}' },
  });
  const choices = [{ index: 0, message: { tool_calls }, finish_reason: 'tool_calls' }];
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ choices }));
};

/** A whole answer, each chunk of which adds to a list of its message, to an item of another and to an object. */
const sendLists = (response: ServerResponse) => {
  const chunks = Array.from({ length: LISTS }, (_, index) => {
    const timings = { [`k${index}`]: index };
    const notes = [{ index: 0, type: 'note', [`k${index % NOTES}`]: index }];
    return {
      choices: [{ index: 0, delta: { content: 'x', annotations: [{}], notes } }],
      timings,
    };
  });
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(chatWire([...chunks, end]));
};

let upstream: Listening;
let generating: GenerationUpstream;
let fleet: Fleet;
let meter: StallMeter;
beforeAll(async () => {
  upstream = await listen(
    createServer(async (incoming, response) => {
      const { model } = (await json(incoming)) as { model: string };
      const endless = endlessOf(model);
      if (endless) flood(response, endless).catch(() => response.destroy());
      else if (model === 'lists') sendLists(response);
      else if (model === 'calls') sendCalls(response);
      else answer(response);
    }),
  );
  const on = (id: string, extra: object = {}) =>
    modelOn([targetAt(upstream.url, { model: id, upstream: id, ...extra })], { id });
  generating = await startGenerationUpstream();
  const speaking = (protocol: 'chat' | 'messages') =>
    modelOn([targetAt(generating.url, { protocol, model: protocol })], {
      id: `vendor/${protocol}`,
    });
  const models = [
    ...[on('vendor/well'), on('lists'), on('calls'), speaking('chat'), speaking('messages')],
    ...ENDLESS.map(({ id, wire }) => on(id, { protocol: wire })),
  ];
  fleet = await startFleet({ models, clock: systemClock, secret: CANARIES.upstreamKey });
  meter = startStallMeter();
});
afterAll(async () => {
  meter.stop();
  await fleet.close();
  await upstream.close();
  await generating.close();
});

const postTo = (path: string, body: string) =>
  send(fleet.urls[0] ?? '', path, {
    method: 'POST',
    headers: { 'x-api-key': fleet.key, 'content-type': 'application/json' },
    body,
  });

const askWell = () =>
  postTo(
    PATHS.chat,
    JSON.stringify({ model: 'vendor/well', messages: [{ role: 'user', content: 'hi' }] }),
  );

/** Reads an answer to its end and keeps only its length: it may be long. */
const drain = async (path: string, body: object) => {
  const outgoing = request(`${fleet.urls[0]}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': fleet.key },
    agent: false,
  });
  outgoing.end(JSON.stringify(body));
  const [response] = await once(outgoing, 'response');
  let bytes = 0;
  for await (const chunk of response) bytes += chunk.length;
  return { status: response.statusCode as number, bytes };
};

describe('an upstream whose answer has no end', () => {
  const cells = ENDLESS.flatMap((endless, row) =>
    sample([false, true], 2, row + Number(endless.wire === 'chat')).map((stream) => ({
      ...endless,
      stream,
    })),
  );
  test.each(cells)(
    'an endless answer is ended and harms no other caller: $id, streamed: $stream',
    async ({ id, wire, stream }) => {
      sent = 0;
      const { got, turnMs } = await meter.during(() =>
        besideBystander({ ask: askWell }, () =>
          drain(PATHS[wire], {
            model: id,
            stream,
            max_tokens: 100,
            messages: [{ role: 'user', content: 'hi' }],
          }),
        ),
      );
      expect(sent, 'bytes that the upstream could send').toBeLessThan(MOST_TAKEN_BYTES);
      expect([200, 502]).toContain(got.got.status);
      expect(turnMs, 'the longest turn').toBeLessThan(MAX_TURN_MS);
      expect(got.account.successRate).toBe(1);
      expect(got.account.slowestMs).toBeLessThan(SLOW_MS);
    },
  );
});

test('a list, an item and an object that grow with each chunk cost each chunk the same', async () => {
  const before = process.threadCpuUsage();
  const messages = [{ role: 'user', content: 'hi' }];
  const { text } = await postTo(PATHS.chat, JSON.stringify({ model: 'lists', messages }));
  const { user, system } = process.threadCpuUsage(before);
  const answered = JSON.parse(text);
  const [{ message }] = answered.choices;
  expect(message.annotations).toHaveLength(LISTS);
  expect(message.notes).toHaveLength(1);
  expect(Object.keys(message.notes[0])).toHaveLength(NOTES + 2);
  expect(Object.keys(answered.timings)).toHaveLength(LISTS);
  expect((user + system) / 1_000).toBeLessThan(SLOW_MS);
});

test('a whole response of 70,000 tool calls is read, behind 10,600 of the history with the next ids', async () => {
  const ids = Array.from({ length: 10_600 }, (_, index) => `call_${10_600 + index}`);
  const uses = ids.map((id) => ({ type: 'tool_use', id, name: 'read', input: {} }));
  const results = ids.map((id) => ({ type: 'tool_result', tool_use_id: id }));
  const messages = [
    { role: 'assistant', content: uses },
    { role: 'user', content: results },
  ];
  const asked = JSON.stringify({ model: 'calls', max_tokens: 10, messages });
  const { status, text } = await postTo(PATHS.messages, asked);
  expect([status, text.slice(0, 300)]).toEqual([200, expect.any(String)]);
  const { content } = JSON.parse(text);
  expect(content).toHaveLength(70_000);
  expect(content[0].id).toBe('call_21200');
});

describe('a request of the largest size', () => {
  test.each(GROWN)('a large request holds no other caller up: $name', async ({ path, body }) => {
    const text = body();
    const { got, turnMs } = await meter.during(() => postTo(path, text));
    expect([200, 400, 413], got.text.slice(0, 300)).toContain(got.status);
    expect(turnMs, 'the longest turn').toBeLessThan(MAX_TURN_MS);
  });
});

/** CPU time of this thread; each takes a third of it at most. */
const MAX_TANGLED_MS = 1_000;
/** What the router adds to a request: fields of its own, and the other names of another protocol. */
const MOST_GROWTH = 4;

describe('a request of many parts that refer to each other', () => {
  test.each(TANGLED)(
    'a tangled request costs and sends no more than its size: $name',
    async (row) => {
      const text = row.body();
      const { got, turnMs } = await meter.during(() => postTo(row.path, text));
      expect(got.status, got.text.slice(0, 300)).toBe(200);
      expect(turnMs, 'the longest turn').toBeLessThan(MAX_TANGLED_MS);
      const received = generating.take().at(-1);
      expect(JSON.stringify(received?.body).length).toBeLessThan(MOST_GROWTH * text.length);
    },
  );
});
