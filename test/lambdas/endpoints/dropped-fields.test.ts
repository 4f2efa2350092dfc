import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCountingClock } from '../../support/counting-clock.ts';
import { type Fleet, startFleet } from '../../support/fleet.ts';
import {
  type GenerationUpstream,
  startGenerationUpstream,
} from '../../support/generation-upstream.ts';
import { CANARIES } from '../../support/leak-watch.ts';
import { modelOf } from '../../support/models.ts';
import { send } from '../../support/send.ts';

type From = 'chat' | 'messages' | 'responses';
/** A field that a target of `to` lacks, and a request that has it. */
type Row = { name: string; from: From; to: From; fields: object };

const PATHS: Record<From, string> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

const page = readFileSync(new URL('../../../docs/translation.md', import.meta.url), 'utf8');
const namesIn = (text: string | undefined): string[] =>
  [...(text ?? '').matchAll(/`([a-z_.]+)`/g)].flatMap(([, name]) => name ?? []);
const listed = (from: From): string[] =>
  namesIn(new RegExp(`^- Named, of ${from}: (.+)$`, 'm').exec(page)?.[1]);

const user = (content: unknown, rest: object = {}) => ({
  messages: [{ role: 'user', content, ...rest }],
});
const parameters = { type: 'object', properties: { a: { type: 'string', minLength: 1 } } };
const called = { type: 'function', function: { name: 'f', parameters, strict: true } };
const tool = (fields: object) => ({ tools: [{ name: 'f', input_schema: parameters, ...fields }] });
const image = { type: 'image', source: { type: 'url', url: 'https://a.test/a.png' } };
const document = (fields: object) =>
  user([
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a' }, ...fields },
  ]);
const thought = { role: 'assistant', content: 'b', reasoning_content: 'c' };
const spoken = { role: 'assistant', content: 'b', audio: { id: 'audio_1' } };
const later = (fields: object) => ({
  messages: [...user('a').messages, { role: 'system', content: 'b', ...fields }],
});

const responsesTool = (fields: object) => ({
  tools: [{ type: 'function', name: 'f', parameters, ...fields }],
});
const namespace = {
  type: 'namespace',
  name: 'n',
  description: 'about files',
  tools: responsesTool({}).tools,
};
const pdf = 'data:application/pdf;base64,JVBERi0=';

/** Members below the top level, by their paths; the last of each protocol is one that no vendor has. */
const WITHIN: Record<From, Record<string, object>> = {
  chat: {
    'messages[user].name': user('hi', { name: 'Ann' }),
    'messages[user].content[image_url].image_url.detail': user([
      { type: 'image_url', image_url: { url: 'https://a.test/a.png', detail: 'high' } },
    ]),
    'messages[assistant].audio': {
      messages: [...user('a').messages, spoken, ...user('c').messages],
    },
    'messages[assistant].reasoning_content': {
      messages: [...user('a').messages, thought, ...user('c').messages],
    },
    'tools[function].function.strict': { tools: [called] },
    'functions[].strict': { functions: [called.function] },
    'tools[function].function.zz_new': {
      tools: [{ ...called, function: { name: 'f', zz_new: 1 } }],
    },
  },
  messages: {
    'messages[user].content[document].citations.enabled': document({
      citations: { enabled: true },
    }),
    'messages[user].content[document].context': document({ context: 'written in May' }),
    'messages[user].content[image].transformations': user([
      { ...image, transformations: ['crop'] },
    ]),
    'messages[user].content[document].cache_control': document({
      cache_control: { type: 'ephemeral' },
    }),
    'messages[system].clear_at': later({ clear_at: 3 }),
    'messages[system].output_config': later({ output_config: { effort: 'low' } }),
    'tools[custom].input_examples': tool({ input_examples: [{ a: 'b' }] }),
    'tools[custom].allowed_callers': tool({ allowed_callers: ['code_execution_20260120'] }),
    'tools[custom].strict': tool({ strict: true }),
    'context_management.edits[clear_tool_uses_20250919]': {
      context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    },
    ['__proto__']: user([JSON.parse('{"type":"text","text":"a","__proto__":1}')]),
  },
  responses: {
    'input[message].content[input_file].detail': {
      input: [{ role: 'user', content: [{ type: 'input_file', file_data: pdf, detail: 'high' }] }],
    },
    'input[message].phase': {
      input: [{ role: 'assistant', content: 'a', phase: 'commentary' }, ...user('b').messages],
    },
    'tools[function].allowed_callers': responsesTool({ allowed_callers: ['programmatic'] }),
    'tools[function].async': responsesTool({ async: true }),
    'tools[function].output_schema': responsesTool({ output_schema: parameters }),
    'tools[namespace].description': { tools: [namespace] },
    'reasoning.context': { reasoning: { context: 'all_turns' } },
    'reasoning.mode': { reasoning: { mode: 'pro' } },
    prompt_cache_key: { prompt_cache_key: 'k' },
    'input[message].content[input_text].prompt_cache_breakpoint': {
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'a', prompt_cache_breakpoint: {} }] },
      ],
    },
    // A name that is not a plain word is text of the caller's.
    'text.*': { text: { 'my secret': 1 } },
  },
};

/** Values of the responses protocol's fields, where any other is a 400. */
const VALUES: Record<string, unknown> = {
  include: ['message.output_text.logprobs'],
  // Left out: the vendor stores a response unless the request rejects it.
  store: undefined,
  truncation: 'auto',
};
const image_url = 'https://a.test/a.png';
const HOSTED = { 'tools[web_search]': { tools: [{ type: 'web_search' }] } };
/** On chat it is carried. */
const ON_MESSAGES = {
  'input[message].content[input_image].detail': {
    input: [{ role: 'user', content: [{ type: 'input_image', image_url, detail: 'low' }] }],
  },
  'text.verbosity': { text: { verbosity: 'low' } },
  service_tier: { service_tier: 'flex' },
};

const rowsOf = (from: From, to: Row['to'], bodies: Record<string, object>): Row[] =>
  Object.entries(bodies).map(([name, fields]) => ({ name, from, to, fields }));

const rowsTo = (from: From, to: Row['to']): Row[] => [
  ...listed(from).flatMap((name) =>
    rowsOf(from, to, {
      [name]: { [name]: from === 'responses' && name in VALUES ? VALUES[name] : 1 },
    }),
  ),
  ...rowsOf(from, to, WITHIN[from]),
];

/** Thinking that the target did not write, or cannot check. */
const earlier = (turn: object) => ({
  messages: [...user('a').messages, { role: 'assistant', ...turn }, ...user('c').messages],
});
const thinking = (block: object) => earlier({ content: [block, { type: 'text', text: 'b' }] });
const signature = 'mrs1.0123456789ab.AbCd';
const reasoned = (item: object) => ({
  input: [{ type: 'reasoning', ...item }, ...user('b').messages],
});
const summary = [{ type: 'summary_text', text: 'Hm.' }];
const SAME: Row[] = [
  ...[{ thinking: 'Hm.' }, { thinking: 'Hm.', signature: 'theirs' }, { thinking: '', signature }]
    .map((block) => thinking({ type: 'thinking', ...block }))
    .flatMap((fields) =>
      rowsOf('messages', 'messages', { 'messages[assistant].content[thinking]': fields }),
    ),
  ...rowsOf('messages', 'messages', {
    'messages[assistant].content[redacted_thinking]': thinking({
      type: 'redacted_thinking',
      data: 'theirs',
    }),
  }),
  ...rowsOf('chat', 'chat', {
    'messages[assistant].reasoning_details[]': earlier({
      content: 'b',
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', signature }],
    }),
  }),
  ...[{ summary }, { summary, encrypted_content: 'theirs' }, { encrypted_content: 'theirs' }]
    .map(reasoned)
    .flatMap((fields) => rowsOf('responses', 'responses', { 'input[reasoning]': fields })),
  ...rowsOf('responses', 'responses', {
    'input[item_reference]': {
      input: [{ type: 'item_reference', id: 'rs_1' }, ...user('b').messages],
    },
  }),
];

const ROWS: Row[] = [
  ...SAME,
  ...rowsTo('chat', 'messages'),
  ...rowsTo('messages', 'chat'),
  ...rowsTo('responses', 'chat'),
  ...rowsTo('responses', 'messages'),
  ...rowsOf('responses', 'chat', HOSTED),
  ...rowsOf('responses', 'messages', { ...HOSTED, ...ON_MESSAGES }),
];

let fleet: Fleet;
let upstream: GenerationUpstream;

beforeAll(async () => {
  upstream = await startGenerationUpstream();
  const models = (['chat', 'messages', 'responses'] as const).map((protocol) =>
    modelOf(protocol, upstream.url, { vision: true }),
  );
  const clock = createCountingClock(Date.UTC(2026, 10, 22, 12));
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const BASE: Record<From, object> = {
  chat: { ...user('hi'), max_tokens: 9 },
  messages: { ...user('hi'), max_tokens: 9 },
  responses: { input: 'hi', store: false },
};

const ask = ({ from, to, fields }: Row, stream: boolean, headers: Record<string, string> = {}) =>
  send(fleet.urls[0] ?? '', PATHS[from], {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.key}`, ...headers },
    body: JSON.stringify({ model: `vendor/${to}`, ...BASE[from], ...fields, stream }),
  });

test.each(ROWS)(
  'a $from request with $name on a $to target names it in x-router-dropped, whole and streamed',
  async (row) => {
    for (const stream of [false, true]) {
      const { status, headers } = await ask(row, stream);
      expect([status, headers['x-router-dropped']]).toEqual([200, row.name]);
    }
  },
);

test.each(ROWS)(
  'a strict $from request with $name on a $to target gets 400 that names it, and calls no upstream',
  async (row) => {
    upstream.take();
    const before = await fleet.charged();
    for (const stream of [false, true]) {
      const { status, text } = await ask(row, stream, { 'x-router-strict': '1' });
      expect(status).toBe(400);
      expect(text).toContain(`accepts ${row.name}.`);
    }
    expect([await fleet.charged(), upstream.take()]).toEqual([before, []]);
  },
);

test('a request that loses 23 members names 20 of them and counts the others', async () => {
  const names = Array.from({ length: 23 }, (_, index) => `zz_${index}`);
  const fields = Object.fromEntries(names.map((name) => [name, 1]));
  const { headers } = await ask({ name: '', from: 'chat', to: 'messages', fields }, false);
  expect(headers['x-router-dropped']).toBe([...names.slice(0, 20), '+3'].join(', '));
});

/** Members of a responses request that are translated, or whose loss changes no response. */
const KEPT = {
  include: ['reasoning.encrypted_content'],
  client_metadata: { a: 'b' },
  metadata: { a: 'b' },
  service_tier: 'auto',
  stream_options: { include_obfuscation: false },
  truncation: 'disabled',
  text: { format: { type: 'json_object' }, verbosity: 'medium' },
  reasoning: { effort: 'low', summary: 'auto', context: 'auto', mode: 'standard' },
  ...responsesTool({ allowed_callers: ['direct'], async: false, defer_loading: true }),
  tool_choice: { type: 'function', name: 'f' },
};

test.each(['chat', 'messages'] as const)(
  'a strict responses request gets 200 on a %s target if each of its members is carried or harmless',
  async (to) => {
    const row = { name: '', from: 'responses', to, fields: KEPT } as const;
    const { status, headers } = await ask(row, false, { 'x-router-strict': '1' });
    expect([status, headers['x-router-dropped']]).toEqual([200, undefined]);
  },
);

test.each([
  ['chat', earlier({ content: 'b', reasoning_content: 'Hm.' })],
  ['responses', reasoned({ summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] })],
] as const)(
  'a strict %s request gets 200 on a target of its protocol if its earlier thinking is open text',
  async (from, fields) => {
    const row = { name: '', from, to: from, fields };
    const { status, headers } = await ask(row, false, { 'x-router-strict': '1' });
    expect([status, headers['x-router-dropped']]).toEqual([200, undefined]);
  },
);

const itemOf = (type: string) => ({ input: [{ type, id: 'msg_1' }] });
const REFUSED = [
  ['previous_response_id', { previous_response_id: 'resp_1' }],
  ['conversation', { conversation: 'conv_1' }],
  ['background', { background: true }],
  ['store', { store: true }],
  ['prompt', { prompt: { id: 'pmpt_1' } }],
  ['safety_identifier', { safety_identifier: ['a'] }],
  ['prompt_cache_key', { prompt_cache_key: 7 }],
  ['input.0', itemOf('item_reference')],
  ['tool_choice', { ...responsesTool({}), tool_choice: { type: 'web_search_preview' } }],
] as const;

test.each(REFUSED)(
  'a responses request gets 400 for %s, strict or not, and calls no upstream',
  async (param, fields) => {
    upstream.take();
    for (const headers of [{}, { 'x-router-strict': '1' }]) {
      const { status, text } = await ask(
        { name: param, from: 'responses', to: 'chat', fields },
        false,
        headers,
      );
      expect([status, JSON.parse(text)]).toEqual([
        400,
        { error: expect.objectContaining({ type: 'invalid_request_error' }) },
      ]);
      expect(JSON.parse(text).error.param).toContain(param);
    }
    expect(upstream.take()).toEqual([]);
  },
);
