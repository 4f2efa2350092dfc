import { expect, test } from 'vitest';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';
import { WIRES } from '../support/wires.ts';
import { PAIRS, PATHS, withStrictFleet } from './strict-fleet.ts';

const strict = withStrictFleet(({ urls }) =>
  WIRES.flatMap((wire) =>
    ['whole', 'streamed', 'history'].map((name) =>
      modelOn([targetAt(urls[wire], { protocol: wire, upstream: `${wire}-${name}` })], {
        id: `vendor/${wire}-${name}`,
      }),
    ),
  ),
);

const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

const TURNS = [{ role: 'user', content: 'hi' }];
const CONVERSATIONS = {
  chat: { max_tokens: 100, messages: TURNS },
  messages: { max_tokens: 100, messages: TURNS },
  responses: { input: TURNS, store: false },
};

const ask = (caller: keyof typeof PATHS, body: object) =>
  send(strict.fleet.urls[0] ?? '', PATHS[caller], {
    method: 'POST',
    headers: { 'x-api-key': strict.fleet.key },
    body: JSON.stringify({ ...CONVERSATIONS[caller], ...body }),
  });

/** An answer of one tool call, with arguments that nest `levels` deep. */
const script = (levels: number) =>
  strict.upstream.script({
    meant: {
      text: '',
      calls: [{ id: 'call_1', name: 'read', arguments: nested(levels) }],
      finish: 'tool-calls',
      usage: { input: 10, cached: 0, output: 10 },
    },
    form: { isWhole: false, isAscii: false, units: [1_000] },
    sizes: [4_096],
  });

const tools = {
  chat: [{ type: 'function', function: { name: 'read' } }],
  messages: [{ name: 'read', input_schema: { type: 'object' } }],
  responses: [{ type: 'function', name: 'read', parameters: { type: 'object' }, strict: false }],
};

const LEVELS = [400, 501, 5_000, 100_000];
const CELLS = PAIRS.flatMap((pair) =>
  [false, true].flatMap((stream) => LEVELS.map((levels) => ({ ...pair, stream, levels }))),
);

test.each(CELLS)(
  'a $caller caller pays for arguments of $levels levels from a $wire upstream only if it gets them, streamed: $stream',
  async ({ caller, wire, stream, levels }) => {
    script(levels);
    const before = await strict.fleet.charged();
    const model = `vendor/${wire}-${stream ? 'streamed' : 'whole'}`;
    const { status, text } = await ask(caller, { model, stream, tools: tools[caller] });
    // Whole messages responses carry arguments as an object; everywhere else they are text.
    const isParsed = caller === 'messages' && !stream;
    // A gemini upstream sends them as an object, which has to be written as text again.
    const isWritable = wire !== 'gemini' || levels <= 5_000;
    const isDelivered = (!isParsed || levels <= 500) && isWritable;
    expect(status, text.slice(0, 200)).toBe(isDelivered ? 200 : 502);
    expect(await strict.fleet.charged()).toBe(before + (isDelivered ? 1 : 0));
    if (!stream && isDelivered) expect(text).toContain('['.repeat(levels - 1));
  },
);

test.each([
  [500, 200],
  [501, 400],
  [100_000, 400],
])(
  'a history with arguments of %i levels for a messages upstream gets a %i',
  async (levels, wanted) => {
    script(2);
    const call = {
      id: 'call_0',
      type: 'function',
      function: { name: 'read', arguments: nested(levels) },
    };
    const before = await strict.fleet.charged();
    const { status, text } = await ask('chat', {
      model: 'vendor/messages-history',
      tools: tools.chat,
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_0', content: 'x' },
      ],
    });
    expect(status, text).toBe(wanted);
    expect(await strict.fleet.charged()).toBe(before + (wanted === 200 ? 1 : 0));
  },
);
