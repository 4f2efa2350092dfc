import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CACHE_FIELDS, type Profile } from '../../lambdas/protocols/profile.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type Answered,
  type Generated,
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';
import { chatWire, messagesWire } from '../support/translate.ts';
import { PATHS } from './strict-fleet.ts';

type Json = Record<string, unknown>;

/** Targets by what they take; the name of each is its model. */
const TARGETS: Record<string, { protocol: 'chat' | 'messages'; profile: Profile }> = {
  marked: { protocol: 'messages', profile: { cacheMarks: '5m', cacheMinimum: 10 } },
  'marked-1h': { protocol: 'messages', profile: { cacheMarks: '1h', cacheMinimum: 10 } },
  'marked-4096': { protocol: 'messages', profile: { cacheMarks: '5m' } },
  plain: { protocol: 'messages', profile: {} },
  'without-ttl': { protocol: 'messages', profile: { cacheMarks: '1h', cacheMinimum: 10 } },
  'without-marks': { protocol: 'messages', profile: { cacheMarks: '5m', cacheMinimum: 10 } },
  chat: { protocol: 'chat', profile: {} },
  'chat-keys': { protocol: 'chat', profile: { cacheFields: ['prompt_cache_key'] } },
  'chat-breakpoints': {
    protocol: 'chat',
    profile: { cacheFields: CACHE_FIELDS.slice(0, -1) },
  },
  'chat-controls': { protocol: 'chat', profile: { cacheFields: ['cache_control'] } },
  'chat-header': { protocol: 'chat', profile: { cacheKeyHeader: 'x-grok-conv-id' } },
  'chat-rejecting': { protocol: 'chat', profile: { cacheFields: ['prompt_cache_key'] } },
};

const WRITTEN = { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 100 };
const USAGE = {
  input_tokens: 3,
  cache_read_input_tokens: 1_000,
  cache_creation_input_tokens: 400,
  cache_creation: WRITTEN,
  output_tokens: 1,
};
const MISSED = { cache_miss_reason: { type: 'tools_changed', cache_missed_input_tokens: 9 } };

const answerOf = ({ url, body }: Generated): Answered => {
  const chat = [
    { choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }] },
    {
      choices: [],
      usage: {
        ...{ prompt_tokens: 1_403, completion_tokens: 1, total_tokens: 1_404 },
        prompt_tokens_details: {
          cached_tokens: 1_000,
          cache_write_tokens: 400,
          cache_write_tokens_details: { ttl_30m_tokens: 300, ttl_12h_tokens: 100 },
        },
      },
    },
  ];
  const messages = [
    {
      type: 'message_start',
      message: {
        ...{ id: 'msg_01vendor', type: 'message', role: 'assistant', content: [], usage: USAGE },
        diagnostics: body.diagnostics ? MISSED : null,
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hello' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ];
  const text = url.includes('/messages') ? messagesWire(messages) : chatWire(chat);
  return { type: 'text/event-stream', text };
};

/** The words of vendors, for targets that reject a member. */
const refuse = ({ body, text }: Generated): string | undefined => {
  if (body.model === 'without-ttl' && text.includes('"ttl"')) {
    return 'system.0.cache_control.ephemeral.ttl: Extra inputs are not permitted';
  }
  if (body.model === 'without-marks' && text.includes('"cache_control"')) {
    return 'messages.0.content.0.text.cache_control: Extra inputs are not permitted';
  }
  return body.model === 'chat-rejecting' && text.includes('prompt_cache_key')
    ? "Unknown parameter: 'prompt_cache_key'."
    : undefined;
};

let upstream: GenerationUpstream;
let fleet: Fleet;

beforeAll(async () => {
  upstream = await startGenerationUpstream(refuse, answerOf);
  const models = Object.entries(TARGETS).map(([model, { protocol, profile }]) =>
    modelOn([targetAt(upstream.url, { protocol, profile, model, upstream: 'caches' })], {
      id: `vendor/${model}`,
      vision: true,
    }),
  );
  fleet = await startFleet({ models, clock: systemClock });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const headersWith = (headers: Record<string, string> = {}) => ({
  authorization: `Bearer ${fleet.key}`,
  ...headers,
});

type Asked = { from: keyof typeof PATHS; to: string; headers?: Record<string, string> };

const ask = async ({ from, to, headers }: Asked, body: Json) => {
  upstream.take();
  const { status, text, ...answer } = await send(fleet.urls[0] ?? '', PATHS[from], {
    method: 'POST',
    headers: headersWith(headers),
    body: JSON.stringify({ ...body, model: `vendor/${to}` }),
  });
  const calls = upstream.take();
  return {
    ...{ status, text, calls, id: String(answer.headers['x-request-id']) },
    sent: calls.at(-1)?.body ?? {},
    named: String(answer.headers['x-router-dropped'] ?? ''),
  };
};

const recordOf = async (id: string): Promise<Json> => {
  const { text } = await send(fleet.urls[0] ?? '', `/v1/requests/${id}`, {
    headers: headersWith(),
  });
  return JSON.parse(text);
};

// --- conversations ---

const LONG = 'The rules of the house are long. '.repeat(10);
const TOOL = { name: 'look', parameters: { type: 'object', properties: {} } };
const call = (id: string) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }],
});
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: `result of ${id}` });

/** A tool loop of several steps. */
const LOOP = {
  tools: [
    { type: 'function', function: TOOL },
    { type: 'function', function: { ...TOOL, name: 'other' } },
  ],
  messages: [
    { role: 'system', content: LONG },
    { role: 'user', content: 'begin' },
    ...[call('c1'), result('c1'), call('c2'), result('c2')],
    { role: 'assistant', content: [{ type: 'text', text: 'on it' }], tool_calls: [] },
    { role: 'user', content: [{ type: 'text', text: 'and now?' }] },
  ],
};

const RESPONSES_LOOP = {
  instructions: LONG,
  tools: [{ type: 'function', ...TOOL }],
  input: [
    { role: 'user', content: 'begin' },
    { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: 'result of c1' },
  ],
  store: false,
};

/** Paths of the objects that have a mark, with its lifetime. */
const marksIn = (value: unknown, path = ''): string[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === 'cache_control' || name === 'prompt_cache_breakpoint'
      ? [`${path} ${inner.ttl ?? inner.mode ?? '5m'}`.trim()]
      : marksIn(inner, path === '' ? name : `${path}.${name}`),
  );
};

describe('marks for callers that send none', () => {
  test('a chat tool loop is marked at the ends of tools, system and the last two user turns', async () => {
    const { sent, id } = await ask({ from: 'chat', to: 'marked' }, LOOP);
    expect(marksIn(sent)).toEqual([
      'system.0 5m',
      'messages.4.content.0 5m',
      'messages.6.content.0 5m',
      'tools.1 5m',
    ]);
    expect(sent.system).toEqual([
      { type: 'text', text: LONG, cache_control: { type: 'ephemeral' } },
    ]);
    expect(await recordOf(id)).toMatchObject({ cache_marks: 'router', cache_marks_why: '5m' });
  });

  test('a responses tool loop is marked, on the result and not inside it', async () => {
    const { sent } = await ask({ from: 'responses', to: 'marked' }, RESPONSES_LOOP);
    expect(marksIn(sent)).toEqual([
      'system.0 5m',
      'messages.0.content.0 5m',
      'messages.2.content.0 5m',
      'tools.0 5m',
    ]);
  });

  test('a target with the longer lifetime gets marks of one hour', async () => {
    const { sent } = await ask({ from: 'chat', to: 'marked-1h' }, LOOP);
    expect(marksIn(sent)).toHaveLength(4);
    expect(marksIn(sent).every((mark) => mark.endsWith(' 1h'))).toBe(true);
  });

  const SINGLE = { messages: [{ role: 'user', content: LONG }] };
  const OWN = {
    system: LONG,
    max_tokens: 9,
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
    messages: [{ role: 'user', content: 'hi' }],
  };
  const off = { headers: { 'x-router-cache': 'off' } };
  const explicit = { ...LOOP, prompt_cache_options: { mode: 'explicit' } };
  test.each<[string, Asked, Json, string]>([
    ['one turn without tools', { from: 'chat', to: 'marked' }, SINGLE, 'single'],
    ['fewer tokens than the model caches', { from: 'chat', to: 'marked-4096' }, LOOP, 'short'],
    ['a target without the profile member', { from: 'chat', to: 'plain' }, LOOP, 'off'],
    ['x-router-cache: off', { from: 'chat', to: 'marked', ...off }, LOOP, 'off'],
    ['explicit mode', { from: 'chat', to: 'marked' }, explicit, 'explicit'],
    ['a caller of messages', { from: 'messages', to: 'marked' }, OWN, 'own'],
    ['a chat target', { from: 'chat', to: 'chat' }, LOOP, 'automatic'],
  ])('%s gets no marks, and the record has the reason', async (_, asked, body, why) => {
    const { sent, id, status } = await ask(asked, body);
    expect([status, marksIn(sent)]).toEqual([200, []]);
    expect(await recordOf(id)).toMatchObject({ cache_marks: 'none', cache_marks_why: why });
  });

  test("a caller's mark stays the only one", async () => {
    const marked = {
      ...LOOP,
      messages: [
        ...LOOP.messages.slice(0, -1),
        { role: 'user', content: 'and now?', cache_control: { type: 'ephemeral', ttl: '1h' } },
      ],
    };
    const { sent, id, named } = await ask({ from: 'chat', to: 'marked' }, marked);
    expect(marksIn(sent)).toEqual(['messages.6.content.0 1h']);
    expect(named).toBe('');
    expect(await recordOf(id)).toMatchObject({ cache_marks: 'caller', cache_marks_why: 'sent' });
  });

  test('no mark is on thinking or on a text without a visible character', async () => {
    const messages = [
      { role: 'system', content: LONG },
      { role: 'user', content: 'begin' },
      { role: 'assistant', content: 'yes' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'go on' },
          { type: 'text', text: ' ' },
        ],
      },
    ];
    const { sent } = await ask({ from: 'chat', to: 'marked' }, { messages });
    expect(marksIn(sent)).toEqual([
      'system.0 5m',
      'messages.0.content.0 5m',
      'messages.2.content.0 5m',
    ]);
  });
});

// --- from form to form ---

const control = { cache_control: { type: 'ephemeral' } };
const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const breakpoint = { prompt_cache_breakpoint: { mode: 'explicit' } };
const halfDay = { prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } };

const messagesWith = (mark: Json) => ({
  max_tokens: 9,
  messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', ...mark }] }],
});
const responsesWith = (mark: Json) => ({
  store: false,
  input: [{ role: 'user', content: [{ type: 'input_text', text: 'hi', ...mark }] }],
});
const FIELDS = {
  prompt_cache_key: 'k',
  prompt_cache_options: { mode: 'implicit', ttl: '30m' },
  prompt_cache_retention: '24h',
};
const PART = 'messages.0.content.0';
const OF_INPUT = 'input[message].content[input_text]';
const OF_TEXT = 'messages[user].content[text]';

describe('what a caller states about caches', () => {
  test.each<[from: Asked['from'], to: string, body: Json, sent: string[], named: string]>([
    ['messages', 'plain', messagesWith(hour), [`${PART} 1h`], ''],
    ['messages', 'chat', messagesWith(control), [], `${OF_TEXT}.cache_control`],
    ['messages', 'chat-breakpoints', messagesWith(control), [`${PART} explicit`], ''],
    [
      ...['messages', 'chat-breakpoints', messagesWith(hour)],
      ...[[`${PART} explicit`], `${OF_TEXT}.cache_control.ttl`],
    ] as never,
    ['messages', 'chat-controls', messagesWith(hour), [`${PART} 1h`], ''],
    ['messages', 'chat-controls', { ...messagesWith({}), ...control }, [], 'cache_control'],
    ['chat', 'plain', messagesWith(hour), [`${PART} 1h`], ''],
    ['chat', 'plain', messagesWith(breakpoint), [`${PART} 5m`], ''],
    [
      ...['chat', 'plain', messagesWith(halfDay)],
      ...[[`${PART} 5m`], `${OF_TEXT}.prompt_cache_breakpoint.ttl`],
    ] as never,
    ['chat', 'chat', messagesWith({ ...control, ...halfDay }), [`${PART} 5m`, `${PART} 12h`], ''],
    ['responses', 'plain', responsesWith(hour), [`${PART} 1h`], ''],
    ['responses', 'plain', responsesWith(breakpoint), [`${PART} 5m`], ''],
    ['responses', 'chat-breakpoints', responsesWith(halfDay), [`${PART} 12h`], ''],
    ['responses', 'chat', responsesWith(breakpoint), [], `${OF_INPUT}.prompt_cache_breakpoint`],
  ])('a mark of %s on a part reaches %s, or is named', async (from, to, body, sent, named) => {
    const answer = await ask({ from, to }, body);
    expect([answer.status, marksIn(answer.sent), answer.named]).toEqual([200, sent, named]);
  });

  test.each<[from: Asked['from'], to: string, body: Json, sent: Json, named: string]>([
    ['chat', 'chat', { ...messagesWith({}), ...FIELDS }, FIELDS, ''],
    ['responses', 'chat-breakpoints', { ...responsesWith({}), ...FIELDS }, FIELDS, ''],
    ['responses', 'chat', { ...responsesWith({}), ...FIELDS }, {}, Object.keys(FIELDS).join(', ')],
    ['chat', 'plain', { ...messagesWith({}), ...FIELDS }, {}, Object.keys(FIELDS).join(', ')],
    ['responses', 'plain', { ...responsesWith({}), ...FIELDS }, {}, Object.keys(FIELDS).join(', ')],
  ])(
    'keys, options and retention of %s reach %s, or are named',
    async (from, to, body, sent, named) => {
      const answer = await ask({ from, to }, body);
      const of = (value: Json) =>
        Object.fromEntries(Object.entries(value).filter(([name]) => name.startsWith('prompt_')));
      expect([answer.status, of(answer.sent), answer.named]).toEqual([200, sent, named]);
    },
  );

  test('of more than four breakpoints a messages target gets the first and the last three', async () => {
    const parts = [1, 2, 3, 4, 5, 6].map((n) => ({ type: 'text', text: `${n}`, ...breakpoint }));
    const body = { messages: [{ role: 'user', content: parts }] };
    const { sent, named, status } = await ask({ from: 'chat', to: 'plain' }, body);
    expect(marksIn(sent).map((mark) => mark.split('.').at(-1))).toEqual(
      ['0', '3', '4', '5'].map((n) => `${n} 5m`),
    );
    expect([status, named]).toEqual([200, `${OF_TEXT}.prompt_cache_breakpoint`]);
  });

  test('a mark on a text without a visible character is named', async () => {
    const content = [
      { type: 'text', text: 'hi' },
      { type: 'text', text: ' ', ...control },
    ];
    for (const [from, at] of [
      ['messages', 'messages[].content[text]'],
      ['chat', OF_TEXT],
    ] as const) {
      const body = { max_tokens: 9, messages: [{ role: 'user', content }] };
      const { named, sent } = await ask({ from, to: 'plain' }, body);
      expect([named, marksIn(sent)]).toEqual([`${at}.cache_control`, []]);
    }
  });

  test("a mark on a tool, a call and a result of messages reaches a chat target's parts, or is named", async () => {
    const body = {
      max_tokens: 9,
      system: [{ type: 'text', text: 'Be brief.', ...control }],
      tools: [{ name: 'look', input_schema: { type: 'object' }, ...control }],
      messages: [
        { role: 'user', content: 'begin' },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 't', name: 'look', input: {}, ...control }],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 't', content: 'seen', ...control }],
        },
      ],
    };
    const { sent, named } = await ask({ from: 'messages', to: 'chat-breakpoints' }, body);
    expect(marksIn(sent)).toEqual([
      'messages.0.content.0 explicit',
      'messages.3.content.0 explicit',
    ]);
    expect(named.split(', ').toSorted()).toEqual([
      'messages[assistant].content[tool_use].cache_control',
      'tools[custom].cache_control',
    ]);
  });
});

describe('the session of a caller', () => {
  const user = JSON.stringify({ device_id: 'd', session_id: 's1' });
  const own = { ...messagesWith({}), metadata: { user_id: user } };
  const keyOf = async (headers: Record<string, string>, body: Json, to = 'chat-keys') =>
    (await ask({ from: 'messages', to, headers }, body)).sent.prompt_cache_key;

  test('a session of messages becomes a key of 32 characters for a chat target that is known to take one', async () => {
    const key = await keyOf({}, own);
    expect(key).toMatch(/^[\da-f]{32}$/);
    expect(await keyOf({ 'x-claude-code-session-id': 's1' }, messagesWith({}))).toBe(key);
    expect(await keyOf({ 'session-id': 's2' }, messagesWith({}))).not.toBe(key);
    expect(await keyOf({ authorization: `Bearer ${fleet.otherKey}` }, own)).not.toBe(key);
    expect(await keyOf({}, messagesWith({}))).toBeUndefined();
    expect(await keyOf({ 'x-router-cache': 'off' }, own)).toBeUndefined();
    expect(await keyOf({}, own, 'chat')).toBeUndefined();
  });

  test("a caller's own key stays, and a provider with a header for sessions gets one", async () => {
    const fields = { ...messagesWith({}), prompt_cache_key: 'mine' };
    const { sent } = await ask({ from: 'chat', to: 'chat-keys' }, fields);
    expect(sent.prompt_cache_key).toBe('mine');
    const { calls } = await ask({ from: 'chat', to: 'chat-header' }, fields);
    expect(calls[0]?.headers['x-grok-conv-id']).toMatch(/^[\da-f]{32}$/);
  });
});

// --- responses ---

const eventsIn = (text: string): Json[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data));

describe('figures of caches', () => {
  test.each([
    ['marked', false],
    ['chat', false],
    ['marked', true],
    ['chat', true],
  ])(
    'figures of %s (streamed: %s) reach every caller in the words of its protocol, by lifetime',
    async (to, stream) => {
      const messages = await ask({ from: 'messages', to }, { ...messagesWith({}), stream });
      const started = stream
        ? (eventsIn(messages.text)[0]?.message as Json)
        : JSON.parse(messages.text);
      // The counts of a chat target come at its end, and its start is estimated.
      if (!(stream && to === 'chat')) {
        expect(started.usage).toMatchObject({
          ...{ input_tokens: 3, cache_read_input_tokens: 1_000 },
          ...{ cache_creation_input_tokens: 400, cache_creation: WRITTEN },
        });
      }
      const responses = await ask({ from: 'responses', to }, { ...responsesWith({}), stream });
      const last = stream ? eventsIn(responses.text).at(-1)?.response : JSON.parse(responses.text);
      expect((last as Json).usage).toMatchObject({
        input_tokens: 1_403,
        input_tokens_details: { cached_tokens: 1_000, cache_write_tokens: 400 },
      });
      const options = { stream_options: { include_usage: true } };
      const chat = await ask(
        { from: 'chat', to },
        {
          ...messagesWith({}),
          ...(stream && { stream, ...options }),
        },
      );
      const whole = stream ? eventsIn(chat.text).at(-1) : JSON.parse(chat.text);
      expect(whole?.usage).toMatchObject({
        prompt_tokens: 1_403,
        prompt_tokens_details: { cached_tokens: 1_000, cache_write_tokens: 400 },
      });
      expect((await recordOf(chat.id)).usage).toMatchObject({
        ...{ cache_read_tokens: 1_000, cache_write_tokens: 400, cache_write_long_tokens: 100 },
      });
    },
  );

  test.each([false, true])(
    "a provider's reason for a missed cache reaches the caller and the record (streamed: %s), and the next request names its message",
    async (stream) => {
      const asking = (previous: string | null) => ({
        ...messagesWith({}),
        stream,
        diagnostics: { previous_message_id: previous },
      });
      const first = await ask({ from: 'messages', to: 'marked' }, asking(null));
      const message = stream
        ? (eventsIn(first.text)[0]?.message as Json)
        : (JSON.parse(first.text) as Json);
      expect(message.diagnostics).toEqual(MISSED);
      expect(message.id).toMatch(/^msg_[\dA-Za-z]+_01vendor$/);
      expect(await recordOf(first.id)).toMatchObject({ cache_miss_reason: 'tools_changed' });
      const { sent } = await ask({ from: 'messages', to: 'marked' }, asking(String(message.id)));
      expect(sent.diagnostics).toEqual({ previous_message_id: 'msg_01vendor' });
    },
  );
});

describe('marks that a provider rejects', () => {
  test('a rejected lifetime is left out, learned, and named for a caller who sent it', async () => {
    const first = await ask({ from: 'chat', to: 'without-ttl' }, LOOP);
    expect([first.status, first.calls.length]).toEqual([200, 2]);
    expect(marksIn(first.sent)).toHaveLength(4);
    const later = await ask({ from: 'messages', to: 'without-ttl' }, messagesWith(hour));
    expect([later.status, later.calls.length, marksIn(later.sent)]).toEqual([
      200,
      1,
      [`${PART} 5m`],
    ]);
    expect(later.named).toBe('messages[].content[].cache_control.ttl');
  });

  test("marks of the router are left out for the request, and a caller's are a 400 with the provider's rule", async () => {
    const ours = await ask({ from: 'chat', to: 'without-marks' }, LOOP);
    expect([ours.status, ours.calls.length, marksIn(ours.sent)]).toEqual([200, 2, []]);
    expect(await recordOf(ours.id)).toMatchObject({
      cache_marks: 'none',
      cache_marks_why: 'rejected',
    });
    const theirs = await ask({ from: 'messages', to: 'without-marks' }, messagesWith(control));
    expect([theirs.status, theirs.calls.length]).toEqual([400, 1]);
    expect(theirs.text).toContain('cache_control: Extra inputs are not permitted');
  });

  test('a rejected key is left out, learned and named', async () => {
    const body = { ...messagesWith({}), prompt_cache_key: 'k' };
    const first = await ask({ from: 'chat', to: 'chat-rejecting' }, body);
    expect([first.status, first.calls.length, first.named]).toEqual([200, 2, 'prompt_cache_key']);
    const later = await ask(
      { from: 'responses', to: 'chat-rejecting' },
      {
        ...responsesWith({}),
        prompt_cache_key: 'k',
      },
    );
    expect([later.status, later.calls.length, later.named]).toEqual([200, 1, 'prompt_cache_key']);
  });
});
