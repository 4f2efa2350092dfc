import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { type Listening, listen } from '../../local/loopback.ts';
import { ChatCompletion } from '../support/chat-schema.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { WholeMessage } from '../support/messages-schema.ts';
import { modelOf } from '../support/models.ts';
import { readSse } from '../support/sse-text.ts';
import { assertWellFormed } from '../support/translate.ts';

type Json = Record<string, unknown>;
type Path = (string | number)[];

/** Sets a member of a copy; undefined removes it. */
const withMember = (value: unknown, [key, ...rest]: Path, set: unknown): unknown => {
  const copy = (Array.isArray(value) ? [...value] : { ...(value as Json) }) as Json;
  const name = key ?? '';
  copy[name] = rest.length === 0 ? set : withMember(copy[name], rest, set);
  return copy;
};

// --- chat ---

const CALL = { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"a":1}' } };
const OPENED = { ...CALL, index: 0, function: { name: 'read', arguments: '' } };
const chunk = (delta: object, finish_reason: string | null = null) => ({
  ...{ id: 'c1', object: 'chat.completion.chunk', created: 7, model: 'm' },
  choices: [{ index: 0, delta, finish_reason }],
});
const CHUNKS = [
  chunk({ role: 'assistant', content: 'Hi' }),
  chunk({ content: ' you' }),
  chunk({ tool_calls: [OPENED] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }),
  chunk({}, 'tool_calls'),
];
const DELTA = ['choices', 0, 'delta'];
const FRAGMENT = [...DELTA, 'tool_calls', 0];
const COMPLETION = {
  ...{ id: 'c1', object: 'chat.completion', created: 7, model: 'm' },
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Hi you', refusal: null, tool_calls: [CALL] },
      logprobs: null,
      finish_reason: 'tool_calls',
    },
  ],
  usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
};
const SAID = ['choices', 0, 'message'];

// --- messages ---

const USAGE = { input_tokens: 5, output_tokens: 2 };
const TEXT = { type: 'text', text: 'Hi you' };
const TOOL = { type: 'tool_use', id: 'toolu_1', name: 'read', input: { a: 1 } };
const MESSAGE = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [TEXT, TOOL] },
  ...{ stop_reason: 'tool_use', stop_sequence: null, usage: USAGE },
};
const delta = (index: number, own: object) => ({
  ...{ type: 'content_block_delta', index },
  delta: own,
});
const EVENTS = [
  { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { ...TEXT, text: '' } },
  delta(0, { type: 'text_delta', text: 'Hi you' }),
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { ...TOOL, input: {} } },
  delta(1, { type: 'input_json_delta', partial_json: '{"a":1}' }),
  { type: 'content_block_stop', index: 1 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: USAGE },
  { type: 'message_stop' },
];

// --- what a provider sends ---

type Case = [odd: string, path: Path, value: unknown];

const OF_CHUNKS: Case[] = [
  ['no list of calls', [1, ...DELTA, 'tool_calls'], null],
  ['a text as its calls', [1, ...DELTA, 'tool_calls'], 'none'],
  ['no call of the older form', [1, ...DELTA, 'function_call'], null],
  ['no role', [1, ...DELTA, 'role'], null],
  ['a refusal that is no text', [1, ...DELTA, 'refusal'], { text: 'No' }],
  ['reasoning that is no text', [1, ...DELTA, 'reasoning'], 1],
  ['log probabilities that are a number', [1, 'choices', 0, 'logprobs'], 0],
  ['a tier that is a number', [1, 'service_tier'], 1],
  ['a call of no kind', [2, ...FRAGMENT, 'type'], 'object'],
  ['a call whose kind is a list', [2, ...FRAGMENT, 'type'], [['function']]],
  ['a call of both kinds', [2, ...FRAGMENT, 'custom'], { name: 'read', input: '' }],
  ['no arguments', [2, ...FRAGMENT, 'function', 'arguments'], null],
  ['a function that is a text', [1, ...DELTA, 'tool_calls'], [{ index: 0, function: 'read' }]],
];

const OF_COMPLETIONS: Case[] = [
  ['no list of annotations', [...SAID, 'annotations'], 'none'],
  ['no call of the older form', [...SAID, 'function_call'], null],
  ['a refusal that is no text', [...SAID, 'refusal'], { text: 'No' }],
  ['log probabilities that are a number', ['choices', 0, 'logprobs'], 0],
  ['a call whose kind is a list', [...SAID, 'tool_calls', 0, 'type'], [['function']]],
];

const ofMessage = (...at: Path): Case[] => [
  ['an object as a count', [...at, 'usage', 'cache_creation_input_tokens'], {}],
  ['a count below zero', [...at, 'usage', 'cache_read_input_tokens'], -1],
  ['counts that are a text', [...at, 'usage', 'server_tool_use'], 'none'],
  ['a tier that is a number', [...at, 'usage', 'service_tier'], 1],
  ['a stop sequence that is a number', [...at, 'stop_sequence'], 0],
  ['a container that is a text', [...at, 'container'], 'c1'],
  ['diagnostics that are a list', [...at, 'diagnostics'], []],
];

const OF_EVENTS: Case[] = [
  ...ofMessage(0, 'message'),
  ['a stop sequence that is a number at the end', [7, 'delta', 'stop_sequence'], 0],
  ['an object as a count at the end', [7, 'usage', 'cache_read_input_tokens'], {}],
  ['citations that are a number', [1, 'content_block', 'citations'], 1],
];
const OF_MESSAGES: Case[] = [
  ...ofMessage(),
  ['citations that are a number', ['content', 0, 'citations'], 1],
];

const streamOf = (events: unknown): string =>
  (events as Json[]).map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');

let sent = '';
let upstream: Listening;
let fleet: Fleet;
beforeAll(async () => {
  upstream = await listen(
    createServer((request, response) => {
      const type = sent.startsWith('{') ? 'application/json' : 'text/event-stream';
      request.resume().once('end', () => {
        response.writeHead(200, { 'content-type': type });
        response.end(sent);
      });
    }),
  );
  const models = (['chat', 'messages'] as const).map((protocol) =>
    modelOf(protocol, upstream.url, { id: `on/${protocol}` }),
  );
  fleet = await startFleet({ models, clock: systemClock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const PATHS = { chat: '/v1/chat/completions', messages: '/v1/messages' };

/** What a caller of the provider's protocol gets. */
const answerTo = async (protocol: keyof typeof PATHS, says: string): Promise<string> => {
  sent = says;
  const body = { model: `on/${protocol}`, messages: [{ role: 'user', content: 'hi' }] };
  const response = await fetch(`${fleet.urls[0]}${PATHS[protocol]}`, {
    method: 'POST',
    headers: { 'x-api-key': fleet.key, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, max_tokens: 100, stream: !says.startsWith('{') }),
  });
  expect(response.status).toBe(200);
  return response.text();
};

const inChat = async (chunks: unknown) => {
  const text = await answerTo('chat', `${streamOf(chunks)}data: [DONE]\n\n`);
  return { wire: text, ...assertWellFormed('chat', text) };
};

test.each(OF_CHUNKS)(
  'a chat stream with %s is of the type that clients read, and says the same',
  async (_, path, value) => {
    const text = await answerTo(
      'chat',
      `${streamOf(withMember(CHUNKS, path, value))}data: [DONE]\n\n`,
    );
    const { isError, tools, ...told } = assertWellFormed('chat', text) as Json & { tools: Json[] };
    expect([isError, told.text, told.finish]).toEqual([false, 'Hi you', 'tool_calls']);
    expect(tools).toEqual([{ id: 'call_1', name: 'read', isCustom: false, arguments: '{"a":1}' }]);
  },
);

test.each(OF_COMPLETIONS)(
  'a whole chat response with %s is of the type that clients read, and says the same',
  async (_, path, value) => {
    const says = JSON.stringify(withMember(COMPLETION, path, value));
    const { choices } = ChatCompletion.parse(JSON.parse(await answerTo('chat', says)));
    expect(choices[0]).toEqual({ ...COMPLETION.choices[0] });
  },
);

test.each(OF_EVENTS)(
  'a messages stream with %s is of the type that clients read, and says the same',
  async (_, path, value) => {
    const text = await answerTo('messages', streamOf(withMember(EVENTS, path, value)));
    const { isError, blocks } = assertWellFormed('messages', text) as Json & { blocks: Json[] };
    expect(isError).toBe(false);
    expect(blocks).toMatchObject([{ text: 'Hi you' }, { id: 'toolu_1', json: '{"a":1}' }]);
    const opened = readSse(text).find(({ event }) => event === 'content_block_start');
    expect(JSON.parse(opened?.data ?? '').content_block.citations ?? []).toEqual([]);
  },
);

test.each(OF_MESSAGES)(
  'a whole message with %s is of the type that clients read, and says the same',
  async (_, path, value) => {
    const says = JSON.stringify(withMember(MESSAGE, path, value));
    const { content } = WholeMessage.parse(JSON.parse(await answerTo('messages', says)));
    expect(content).toEqual([TEXT, TOOL]);
  },
);

test.each([['created'], ['model'], ['id'], ['object']])(
  'a last chat chunk without its %s says what a chunk without choices said, and what the router says',
  async (name) => {
    const before = { ...chunk({}), choices: [], filters: ['kept'], [name]: '' };
    const chunks = withMember([before, ...CHUNKS], [CHUNKS.length, name], undefined);
    const { isError, wire } = await inChat(chunks);
    expect(isError).toBe(false);
    expect(wire).toContain('"filters":["kept"]');
  },
);

test.each([[0.5], [-1], [1], ['0'], [null]])(
  'a call of a chat stream whose place is %j reaches the caller as its first one',
  async (index) => {
    const call = { ...CALL, index };
    const told = await inChat([chunk({ role: 'assistant', tool_calls: [call] }), CHUNKS.at(-1)]);
    expect(told).toMatchObject({ isError: false, tools: [{ id: 'call_1', arguments: '{"a":1}' }] });
  },
);

test('a call without arguments in the last chunk of a chat stream follows its start', async () => {
  const call = { ...OPENED, function: { name: 'time', arguments: '' } };
  const said = { role: 'assistant', content: null, tool_calls: [call] };
  expect(await inChat([chunk(said, 'tool_calls')])).toMatchObject({
    isError: false,
    tools: [{ id: 'call_1', name: 'time', arguments: '{}' }],
  });
});
