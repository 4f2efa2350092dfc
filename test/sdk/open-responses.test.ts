import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { post, useRouter } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { faultsOfEvent, faultsOfResponse, isSpecified } from '../support/open-responses.ts';
import { type Json, parseJson, readSse } from '../support/sse-text.ts';
import { WIRES, type Wire } from '../support/wires.ts';

const modelOf = (protocol: Wire) => `open/${protocol}`;
const catalog = WIRES.map((protocol) =>
  modelOn([targetAt('https://upstream.example', { protocol, upstream: protocol })], {
    ...{ id: modelOf(protocol), vision: true },
  }),
);
const router = useRouter({ catalog });

const message = (role: string, content: unknown) => ({ type: 'message', role, content });
const WEATHER = {
  type: 'function',
  name: 'weather',
  description: 'The weather in a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
};
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

type Case = { name: string; input: Json[]; tools?: Json[]; stream?: boolean; gives: string };

/** What the specification's own suite asks of an endpoint without a store; test/state/open-responses.test.ts has the others. */
const CASES: Case[] = [
  { name: 'a text', input: [message('user', 'say Hello to you.')], gives: 'message' },
  {
    ...{ name: 'a stream', stream: true, gives: 'message' },
    input: [message('user', 'say One two three four five.')],
  },
  {
    ...{ name: 'a system prompt', gives: 'message' },
    input: [message('system', 'Answer as a pirate does.'), message('user', 'say Ahoy.')],
  },
  {
    ...{ name: 'a call of a tool', tools: [WEATHER], gives: 'function_call' },
    input: [message('user', 'call weather {"city":"Lisbon"}')],
  },
  {
    ...{ name: 'a streamed call of a tool', stream: true, tools: [WEATHER] },
    ...{ gives: 'function_call', input: [message('user', 'call weather {"city":"Lisbon"}')] },
  },
  {
    ...{ name: 'an image', gives: 'message' },
    input: [
      message('user', [
        { type: 'input_text', text: 'What is in this picture?' },
        { type: 'input_image', image_url: PIXEL },
      ]),
    ],
  },
  {
    ...{ name: 'a file', gives: 'message' },
    input: [
      message('user', [
        { type: 'input_text', text: 'say Read.' },
        {
          type: 'input_file',
          filename: 'a.pdf',
          file_data: 'data:application/pdf;base64,JVBERi0=',
        },
      ]),
    ],
  },
  {
    ...{ name: 'an earlier message with a phase', gives: 'message' },
    input: [
      message('user', 'Look for it.'),
      {
        ...{ type: 'message', role: 'assistant', phase: 'commentary' },
        content: [{ type: 'output_text', text: 'I look.', annotations: [] }],
      },
      message('user', 'say Found.'),
    ],
  },
  {
    ...{ name: 'a call and its output', tools: [WEATHER], gives: 'message' },
    input: [
      message('user', 'How is the weather?'),
      { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Lisbon"}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'sunny' },
    ],
  },
  {
    ...{ name: 'several turns', gives: 'message' },
    input: [
      message('user', 'My name is Ada.'),
      message('assistant', 'Hello, Ada.'),
      message('user', 'say Ada.'),
    ],
  },
];

const eventsIn = (text: string) => readSse(text).map(({ data }) => parseJson(data));
const typesIn = (events: Json[]) => events.map(({ type }) => type);

/** The response, and the events of a stream, whose every one is valid. */
const answerTo = async (
  model: string,
  { input, tools, stream = false }: Partial<Case>,
  more = {},
) => {
  const response = await post(router(), '/v1/responses', { model, input, tools, stream, ...more });
  const text = await response.text();
  expect([response.status, text.slice(0, 300)]).toEqual([200, expect.any(String)]);
  if (!stream) return { response: parseJson(text), events: [] };
  const events = eventsIn(text);
  expect(events.flatMap((event) => faultsOfEvent({ type: '', ...event }))).toEqual([]);
  return { response: events.at(-1)?.response as Json, events };
};

describe.each(WIRES)('an upstream that speaks %s', (protocol) => {
  const model = modelOf(protocol);

  test.each(CASES)('Open Responses: $name is answered by the specification', async (asked) => {
    const { response, events } = await answerTo(model, asked);
    expect(faultsOfResponse(response)).toEqual([]);
    expect(response).toMatchObject({ status: 'completed', completed_at: expect.any(Number) });
    const output = response.output as Json[];
    expect(output.map(({ type }) => type)).toContain(asked.gives);
    if (!asked.stream) return;
    expect(typesIn(events).slice(0, 2)).toEqual(['response.created', 'response.in_progress']);
    const own = asked.tools ? 'function_call_arguments' : 'output_text';
    const steps = ['output_item.added', `${own}.delta`, `${own}.done`, 'output_item.done'];
    const named = steps.map((step) => `response.${step}`);
    expect(typesIn(events)).toEqual(expect.arrayContaining(named));
  });

  test.each([
    ['text alone', { text: { verbosity: 'low' } }],
    ['an effort alone', { reasoning: { effort: 'low' } }],
    ['sampling', { temperature: 0.5, top_p: 0.5, max_output_tokens: 50 }],
    ['keys', { prompt_cache_key: 'a', safety_identifier: 'b', metadata: { c: 'd' } }],
    ['a choice', { tools: [WEATHER], tool_choice: { type: 'function', name: 'weather' } }],
  ])(
    'Open Responses: the response to a request with %s is valid and has its values',
    async (_name, fields) => {
      const input = [message('user', 'think Hm.\nsay Yes.')];
      const whole = await answerTo(model, { input }, fields);
      const streamed = await answerTo(model, { input, stream: true }, fields);
      const { tools: _tools, ...echoed } = { tools: [], ...fields };
      for (const { response } of [whole, streamed]) {
        expect(faultsOfResponse(response)).toEqual([]);
        expect(response).toMatchObject(echoed);
      }
    },
  );
});

test('docs/clients.md lists each of these requests, on a model of each upstream protocol', () => {
  const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
  const [, listed = ''] = page.split(`On models of ${WIRES.join(', ')}: `);
  for (const { name } of CASES) expect(listed.split('.\n')[0]?.split('; ')).toContain(name);
});

/** Streams of every kind of upstream, broken ones among them; those of the caller's protocol are relayed as the vendor sent them. */
const golden = globSync(
  fileURLToPath(new URL('../fixtures/streams/*/for-responses.sse', import.meta.url)),
).filter((path) => !existsSync(path.replace('for-responses', 'upstream.responses')));

test('every event of every recorded stream is one of the specification, but those of custom tools', () => {
  const events = golden.flatMap((path) => eventsIn(readFileSync(path, 'utf8')));
  const custom = events.filter(
    (event) =>
      JSON.stringify(event).includes('"type":"custom_tool_call"') || !isSpecified(event.type),
  );
  expect([...new Set(typesIn(custom.filter(({ type }) => !isSpecified(type))))].toSorted()).toEqual(
    ['response.custom_tool_call_input.delta', 'response.custom_tool_call_input.done'],
  );
  const specified = events.filter((event) => !custom.includes(event));
  expect(specified.length).toBeGreaterThan(500);
  expect(specified.flatMap((event) => faultsOfEvent({ type: '', ...event }))).toEqual([]);
});

test('the schema of Open Responses rejects a response without any one of its members', async () => {
  const [first] = CASES;
  const { response } = await answerTo(modelOf('chat'), first ?? {});
  const required = Object.keys(response).filter((name) => {
    const { [name]: _, ...rest } = response;
    return faultsOfResponse(rest).length > 0;
  });
  expect(required).toHaveLength(31);
});
