import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCountingClock } from '../../support/counting-clock.ts';
import { type Fleet, startFleet } from '../../support/fleet.ts';
import {
  type GenerationUpstream,
  startGenerationUpstream,
} from '../../support/generation-upstream.ts';
import { CANARIES } from '../../support/leak-watch.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { send } from '../../support/send.ts';

type From = 'chat' | 'messages' | 'responses';
/** A field that a target of `to` lacks, and a request that has it. */
type Row = { name: string; from: From; to: 'chat' | 'messages'; fields: object };

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

/** Members of turns, parts and tools. */
const WITHIN: Record<From, Record<string, object>> = {
  chat: {
    name: user('hi', { name: 'Ann' }),
    detail: user([
      { type: 'image_url', image_url: { url: 'https://a.test/a.png', detail: 'high' } },
    ]),
    audio: { messages: [...user('a').messages, spoken, ...user('c').messages] },
    strict: { tools: [called] },
  },
  messages: {
    citations: document({ citations: { enabled: true } }),
    context: document({ context: 'written in May' }),
    transformations: user([{ ...image, transformations: ['crop'] }]),
    clear_at: later({ clear_at: 3 }),
    output_config: later({ output_config: { effort: 'low' } }),
    input_examples: tool({ input_examples: [{ a: 'b' }] }),
    allowed_callers: tool({ allowed_callers: ['code_execution_20260120'] }),
    strict: tool({ strict: true }),
  },
  responses: {
    detail: {
      input: [{ role: 'user', content: [{ type: 'input_file', file_data: pdf, detail: 'high' }] }],
    },
    allowed_callers: responsesTool({ allowed_callers: ['programmatic'] }),
    async: responsesTool({ async: true }),
    output_schema: responsesTool({ output_schema: parameters }),
    'namespace.description': { tools: [namespace] },
    'reasoning.context': { reasoning: { context: 'all_turns' } },
    'reasoning.mode': { reasoning: { mode: 'pro' } },
  },
};

/** Values of the responses protocol's fields, where any other is a 400. */
const VALUES: Record<string, unknown> = {
  include: ['message.output_text.logprobs'],
  store: true,
  truncation: 'auto',
};
const image_url = 'https://a.test/a.png';
const HOSTED = { web_search: { tools: [{ type: 'web_search' }] } };
/** On chat it is carried. */
const ON_MESSAGES = {
  detail: {
    input: [{ role: 'user', content: [{ type: 'input_image', image_url, detail: 'low' }] }],
  },
};

const rowsOf = (from: From, to: Row['to'], bodies: Record<string, object>): Row[] =>
  Object.entries(bodies).map(([name, fields]) => ({ name, from, to, fields }));

const rowsTo = (from: From, to: Row['to']): Row[] => [
  ...listed(from).flatMap((name) =>
    rowsOf(from, to, { [name]: { [name]: from === 'responses' ? (VALUES[name] ?? 1) : 1 } }),
  ),
  ...rowsOf(from, to, WITHIN[from]),
];

const ROWS: Row[] = [
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
  const models = (['chat', 'messages'] as const).map((protocol) =>
    modelOn([targetAt(upstream.url, { protocol, upstream: protocol })], {
      id: `vendor/${protocol}`,
      vision: true,
    }),
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

test('every member that the page names within turns, parts and tools is driven', () => {
  const [, sentence] = /^Within turns, parts and tools these are: ([\s\S]+?)\n\n/m.exec(page) ?? [];
  const driven = [...new Set(Object.values(WITHIN).flatMap(Object.keys))];
  expect(namesIn(sentence).toSorted()).toEqual(driven.toSorted());
});

/** Members of a responses request that are translated, or whose loss changes no response. */
const KEPT = {
  include: ['reasoning.encrypted_content'],
  client_metadata: { a: 'b' },
  metadata: { a: 'b' },
  prompt_cache_key: 'k',
  prompt_cache_options: { mode: 'explicit' },
  service_tier: 'flex',
  stream_options: { include_obfuscation: false },
  truncation: 'disabled',
  text: { format: { type: 'json_object' }, verbosity: 'low' },
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

const itemOf = (type: string) => ({ input: [{ type, id: 'msg_1' }] });
const REFUSED = [
  ['previous_response_id', { previous_response_id: 'resp_1' }],
  ['conversation', { conversation: 'conv_1' }],
  ['background', { background: true }],
  ['prompt', { prompt: { id: 'pmpt_1' } }],
  ['context_management', { context_management: [{ type: 'compaction' }] }],
  ['input.0.type', itemOf('compaction')],
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
