import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listen } from '../../../local/loopback.ts';
import { assertChatStream } from '../../support/chat-stream.ts';
import { type Fleet, startFleet } from '../../support/fleet.ts';
import { CANARIES } from '../../support/leak-watch.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { assertMessagesStream } from '../../support/messages-stream.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { send } from '../../support/send.ts';
import { readSse } from '../../support/sse-text.ts';
import { chatWire, messagesWire } from '../../support/translate.ts';

/** What the upstream generates, in these pieces; it refuses stop sequences. */
let pieces: string[] = [];
/** How many pieces were sent after the one that made the stop sequence complete. */
let hasEnded = true;
let isSlow = false;

const chatStream = (): string[] => [
  ...pieces.map((content) =>
    chatWire([{ choices: [{ index: 0, delta: { content }, finish_reason: null }] }], ''),
  ),
  chatWire([
    {
      choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
      usage: { prompt_tokens: 9, completion_tokens: 9 },
    },
  ]),
];

const messagesStream = (): string[] => [
  messagesWire([
    { type: 'message_start', message: { usage: { input_tokens: 9, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ]),
  ...pieces.map((text) =>
    messagesWire([{ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }]),
  ),
  messagesWire([
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ]),
];

const startUpstream = () =>
  listen(
    createServer(async (request, response) => {
      const body = (await json(request)) as Record<string, unknown>;
      const name = ['stop', 'stop_sequences'].find((member) => body[member] !== undefined);
      if (name) {
        const message = `Model grok-4.6 does not support parameter ${name}.`;
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: { message, type: 'invalid_request_error' } }));
        return;
      }
      hasEnded = false;
      response.on('close', () => {
        hasEnded = true;
      });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const text of request.url?.includes('/messages') ? messagesStream() : chatStream()) {
        response.write(text);
        if (isSlow) await pause(20);
      }
      response.end();
    }),
  );

const clock = createManualClock(Date.UTC(2026, 10, 24, 12));
let upstream: Awaited<ReturnType<typeof startUpstream>>;
let fleet: Fleet;
beforeAll(async () => {
  upstream = await startUpstream();
  const models = (['chat', 'messages'] as const).flatMap((protocol) =>
    [{ stop: false }, undefined].map((profile) =>
      modelOn(
        [targetAt(upstream.url, { protocol, model: protocol, ...(profile && { profile }) })],
        {
          id: `${profile ? 'known' : 'learned'}/${protocol}`,
        },
      ),
    ),
  );
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

type Caller = 'chat' | 'messages';
type Asked = { caller: Caller; model: string; stops: string[]; stream: boolean };

const ask = async ({ caller, model, stops, stream }: Asked) => {
  const path = caller === 'chat' ? '/v1/chat/completions' : '/v1/messages';
  const { status, headers, text } = await send(fleet.urls[0] ?? '', path, {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.key}`, 'x-router-strict': '1' },
    body: JSON.stringify({
      ...{ model, stream, max_tokens: 60, messages: [{ role: 'user', content: 'hi' }] },
      ...(caller === 'chat' ? { stop: stops } : { stop_sequences: stops }),
    }),
  });
  expect(status).toBe(200);
  expect(headers['x-router-dropped']).toBeUndefined();
  return text;
};

/** The text of an answer, why it ended, and the stop sequence that did, where the caller's protocol has it. */
const endOf = async (asked: Asked) => {
  const text = await ask(asked);
  if (asked.caller === 'chat') {
    const { choices } = asked.stream ? { choices: [] } : JSON.parse(text);
    if (!asked.stream) return [choices[0].message.content, choices[0].finish_reason];
    assertChatStream(readSse(text));
    const chunks = readSse(text).flatMap(({ data }) =>
      data === '[DONE]' ? [] : [JSON.parse(data)],
    );
    const all = chunks.flatMap((chunk) => chunk.choices);
    const content = all.map(({ delta }) => delta.content ?? '').join('');
    return [content, all.find(({ finish_reason: reason }) => reason)?.finish_reason];
  }
  if (!asked.stream) {
    const { content, stop_reason: reason, stop_sequence: stop } = JSON.parse(text);
    return [content[0]?.text ?? '', reason, stop];
  }
  const events = readSse(text);
  assertMessagesStream(events);
  const all = events.map(({ data }) => JSON.parse(data));
  const content = all.map(({ delta }) => delta?.text ?? '').join('');
  const { stop_reason: reason, stop_sequence: stop } = all.findLast(
    ({ delta }) => delta?.stop_reason,
  ).delta;
  return [content, reason, stop];
};

const expected = (caller: Caller, text: string, stop: string | undefined) =>
  caller === 'chat'
    ? [text, 'stop']
    : [text, stop === undefined ? 'end_turn' : 'stop_sequence', stop ?? null];

const CASES: { text: string; stops: string[]; left: string; stop?: string }[] = [
  { text: 'one STOP two', stops: ['STOP'], left: 'one ', stop: 'STOP' },
  { text: 'STSTOP', stops: ['STOP'], left: 'ST', stop: 'STOP' },
  { text: 'STO and no more', stops: ['STOP'], left: 'STO and no more' },
  { text: 'ends with ST', stops: ['STOP'], left: 'ends with ST' },
  {
    text: 'héllo 👩‍👩‍👧 — 終わり。さらに',
    stops: ['終わり', '👧'],
    left: 'héllo 👩‍👩‍',
    stop: '👧',
  },
  { text: 'a\n\nHuman: b', stops: ['\n\nHuman:', '\n\nAI:'], left: 'a', stop: '\n\nHuman:' },
  // Complete first, although the other begins first.
  { text: 'xabcdy', stops: ['abcd', 'bc'], left: 'xa', stop: 'bc' },
];

/** In UTF-16 units, as vendors cut texts between events: halves of an emoji are events of their own. */
const splitsOf = (text: string): string[][] => [
  [text],
  Array.from({ length: text.length }, (_, index) => text[index] ?? ''),
  ...[1, 2, 3].map((shift) =>
    [text.slice(0, shift), ...(text.slice(shift).match(/[\s\S]{1,3}/g) ?? [])].filter(Boolean),
  ),
];

describe.each(['chat', 'messages'] as const)('a target on %s that refuses stop sequences', (to) => {
  test.each(['chat', 'messages'] as const)(
    'a response ends at the first one for callers of %s, whole and streamed, in whatever pieces the text arrives',
    async (caller) => {
      let cells = 0;
      for (const { text, stops, left, stop } of CASES) {
        for (const split of splitsOf(text)) {
          for (const stream of [true, false]) {
            pieces = split;
            const found = await endOf({ caller, model: `known/${to}`, stops, stream });
            expect({ split, stream, found }).toEqual({
              ...{ split, stream },
              found: expected(caller, left, stop),
            });
            cells += 1;
          }
        }
      }
      expect(cells).toBe(CASES.length * 5 * 2);
    },
  );

  test.each(['chat', 'messages'] as const)(
    'a caller of %s whose stop sequence is refused is answered as if it had been accepted',
    async (caller) => {
      pieces = ['one ST', 'OP two'];
      const asked = { caller, model: `learned/${to}`, stops: ['STOP'], stream: true };
      expect(await endOf(asked)).toEqual(expected(caller, 'one ', 'STOP'));
    },
  );

  test('the call of an upstream ends at the stop sequence', async () => {
    pieces = ['one STOP', ...Array(200).fill(' more')];
    isSlow = true;
    const asked = { caller: 'chat' as const, model: `known/${to}`, stops: ['STOP'], stream: true };
    expect(await endOf(asked)).toEqual(['one ', 'stop']);
    isSlow = false;
    await expect.poll(() => hasEnded).toBe(true);
  });
});
