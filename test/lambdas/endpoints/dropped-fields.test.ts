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
  [...(text ?? '').matchAll(/`([a-z_]+)`/g)].flatMap(([, name]) => name ?? []);
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

/** Members of turns, parts and tools. */
const WITHIN: Record<'chat' | 'messages', Record<string, object>> = {
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
    allowed_callers: tool({ allowed_callers: ['direct'] }),
    strict: tool({ strict: true }),
  },
};

const OF_RESPONSES = {
  store: { store: true },
  truncation: { truncation: 'auto' },
  top_logprobs: { top_logprobs: 2 },
  max_tool_calls: { max_tool_calls: 2 },
  web_search: { tools: [{ type: 'web_search' }] },
};

const ROWS: Row[] = (['chat', 'messages'] as const).flatMap((from): Row[] => {
  const to = from === 'chat' ? 'messages' : 'chat';
  const fields = listed(from).map((name) => ({ name, from, to, fields: { [name]: 1 } }) as const);
  const within = Object.entries(WITHIN[from]);
  const ofResponses = Object.entries(OF_RESPONSES);
  return [
    ...fields,
    ...within.map(([name, body]) => ({ name, from, to, fields: body }) as const),
    ...ofResponses.map(([name, body]) => ({ name, from: 'responses', to, fields: body }) as const),
  ];
});

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
