import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { rejection } from '../support/error-of.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type Answered,
  type Generated,
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { chatRejections } from '../support/strict-upstream/chat-rules.ts';
import { messagesRejections } from '../support/strict-upstream/messages-rules.ts';
import { chatWire, messagesWire } from '../support/translate.ts';

type Json = Record<string, unknown>;

const sse = (text: string): Answered => ({ type: 'text/event-stream', text });
const json = (body: object): Answered => ({ type: 'application/json', text: JSON.stringify(body) });

const USAGE = { prompt_tokens: 9, completion_tokens: 30, total_tokens: 39 };
const delta = (index: number, part: object, finish: string | null = null) => ({
  choices: [{ index, delta: part, logprobs: null, finish_reason: finish }],
});
const stream = (...chunks: object[]) => sse(chatWire([...chunks, { choices: [], usage: USAGE }]));

const call = (index: number, id: string) => ({
  tool_calls: [{ index, id, type: 'function', function: { name: 'look', arguments: '' } }],
});
const part = (index: number, text: string) => ({
  tool_calls: [{ index, function: { arguments: text } }],
});

/** Three choices whose chunks interleave, as the vendor sends them: two texts and a tool call. */
const choices = () =>
  stream(
    delta(0, { role: 'assistant', content: '' }),
    delta(1, { role: 'assistant', content: '' }),
    delta(1, { content: 'Sec' }),
    delta(0, { content: 'First' }),
    delta(2, { role: 'assistant', content: null, ...call(0, 'call_a') }),
    delta(1, { content: 'ond' }),
    delta(2, part(0, '{"a"')),
    delta(0, { content: '.' }),
    delta(2, part(0, ':1}')),
    delta(1, {}, 'length'),
    delta(0, {}, 'stop'),
    delta(2, {}, 'tool_calls'),
  );

const INPUT = '*** Begin\n+ "quoted" \\ ünï\n';
const AUDIO = {
  id: 'audio_1',
  data: 'AAECAwQF',
  transcript: 'Hello you',
  expires_at: 1_800_000_000,
};

const spoken = ({ stream: isStreamed }: Json) =>
  isStreamed
    ? stream(
        delta(0, { role: 'assistant', content: null, refusal: null }),
        delta(0, { audio: { id: AUDIO.id, transcript: 'Hello' } }),
        delta(0, { audio: { transcript: ' you' } }),
        delta(0, { audio: { data: 'AAEC' } }),
        delta(0, { audio: { data: 'AwQF' } }),
        delta(0, { audio: { expires_at: AUDIO.expires_at } }),
        delta(0, {}, 'stop'),
      )
    : json({
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: null, refusal: null, audio: AUDIO },
            finish_reason: 'stop',
          },
        ],
        usage: USAGE,
      });

const hasResult = ({ messages }: Json): boolean =>
  JSON.stringify(messages).includes('"role":"tool"') ||
  JSON.stringify(messages).includes('"role":"function"') ||
  JSON.stringify(messages).includes('tool_result');

const text = () => stream(delta(0, { role: 'assistant', content: 'Done.' }), delta(0, {}, 'stop'));

const customCall = () => {
  const custom = (input: string, head: object = {}) => ({
    tool_calls: [{ index: 0, ...head, custom: { ...('id' in head && { name: 'patch' }), input } }],
  });
  return stream(
    delta(0, { role: 'assistant', content: null, ...custom('', { id: 'call_p', type: 'custom' }) }),
    ...[INPUT.slice(0, 11), INPUT.slice(11)].map((piece) => delta(0, custom(piece))),
    delta(0, {}, 'tool_calls'),
  );
};

const functionCall = () =>
  stream(
    delta(0, { role: 'assistant', content: null, function_call: { name: 'look', arguments: '' } }),
    delta(0, { function_call: { arguments: '{"a"' } }),
    delta(0, { function_call: { arguments: ':1}' } }),
    delta(0, {}, 'function_call'),
  );

const answerChat = (body: Json): Answered => {
  if (Number(body.n) > 1) return choices();
  if (body.audio) return spoken(body);
  if (hasResult(body)) return text();
  return body.functions ? functionCall() : customCall();
};

const answerMessages = (body: Json): Answered => {
  const [tool] = body.tools as { name: string }[];
  const input = tool?.name === 'patch' ? { input: INPUT } : { a: 1 };
  const pieces = JSON.stringify(input).match(/.{1,7}/gs) ?? [];
  const block = hasResult(body)
    ? { type: 'text', text: 'Done.' }
    : { type: 'tool_use', id: 'toolu_1', name: tool?.name, input: {} };
  const deltas = hasResult(body) ? [] : pieces;
  return sse(
    messagesWire([
      { type: 'message_start', message: { usage: { input_tokens: 9, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: block },
      ...deltas.map((partial_json) => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json },
      })),
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: hasResult(body) ? 'end_turn' : 'tool_use' },
        usage: { output_tokens: 30 },
      },
      { type: 'message_stop' },
    ]),
  );
};

const isOfMessages = ({ url }: Generated): boolean => url.includes('/messages');

let upstream: GenerationUpstream;
let fleet: Fleet;
let client: OpenAI;
beforeAll(async () => {
  upstream = await startGenerationUpstream(
    (request) => (isOfMessages(request) ? messagesRejections : chatRejections)(request.body)[0],
    (request) => (isOfMessages(request) ? answerMessages : answerChat)(request.body),
  );
  const chat = targetAt(upstream.url);
  const messages = targetAt(upstream.url, { upstream: 'other', protocol: 'messages' });
  const models = [
    modelOn([chat], { id: 'vendor/chat' }),
    modelOn([messages], { id: 'vendor/messages' }),
    ...(['responses', 'gemini'] as const).map((protocol) =>
      modelOn([targetAt(upstream.url, { upstream: protocol, protocol })], {
        id: `vendor/${protocol}`,
      }),
    ),
    modelOn([messages, chat], { id: 'vendor/both' }),
  ];
  fleet = await startFleet({ models, clock: systemClock, secret: CANARIES.upstreamKey });
  client = new OpenAI({ baseURL: `${fleet.urls[0]}/v1`, apiKey: fleet.key, maxRetries: 0 });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

type Params = OpenAI.ChatCompletionCreateParamsNonStreaming;
const user = (content: string) => ({ role: 'user' as const, content });

/** The response as the SDK reads it whole, and as its helper adds up the stream. */
const readers: [string, (params: Params) => Promise<OpenAI.ChatCompletion>][] = [
  ['whole', (params) => client.chat.completions.create(params)],
  [
    'streamed',
    (params) =>
      client.chat.completions
        .stream({ ...params, stream: true, stream_options: { include_usage: true } })
        .finalChatCompletion(),
  ],
];

describe.each(readers)('a %s response', (form, read) => {
  test(`n = 3 returns three choices, ${form}, for one unit and the sum of their tokens`, async () => {
    const charged = await fleet.charged();
    const completion = await read({ model: 'vendor/both', messages: [user('hi')], n: 3 });
    expect(completion.choices).toMatchObject([
      { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'First.' } },
      { index: 1, finish_reason: 'length', message: { role: 'assistant', content: 'Second' } },
      {
        index: 2,
        finish_reason: 'tool_calls',
        message: {
          tool_calls: [{ id: 'call_a', function: { name: 'look', arguments: '{"a":1}' } }],
        },
      },
    ]);
    expect(completion.usage).toEqual(USAGE);
    await expect.poll(() => fleet.charged()).toBe(charged + 1);
    expect(fleet.lines().findLast(({ event }) => event === 'request')).toMatchObject({
      inputTokens: 9,
      outputTokens: 30,
      upstream: 'primary',
    });
  });

  test.each([
    ['chat', 'call_p'],
    ['messages', 'toolu_1'],
  ])(
    `a custom tool is called with free text, ${form}, and gets its result, on %s`,
    async (on, id) => {
      const tools = [{ type: 'custom' as const, custom: { name: 'patch' } }];
      const params = { model: `vendor/${on}`, tools };
      const {
        choices: [first],
      } = await read({ ...params, messages: [user('hi')] });
      expect(first?.finish_reason).toBe('tool_calls');
      expect(first?.message.tool_calls).toEqual([
        expect.objectContaining({ id, type: 'custom', custom: { name: 'patch', input: INPUT } }),
      ]);
      const result = { role: 'tool' as const, tool_call_id: id, content: 'ok' };
      const history = [user('hi'), ...(first ? [first.message] : []), result];
      const second = await read({ ...params, messages: history });
      expect(second.choices[0]?.message.content).toBe('Done.');
      expect(JSON.stringify(upstream.take().at(-1)?.body.messages)).toContain('*** Begin');
    },
  );

  test.each(['chat', 'messages'])(
    `a client of functions gets a function_call, ${form}, and sends its result, on %s`,
    async (on) => {
      const functions = [{ name: 'look', parameters: { type: 'object', properties: {} } }];
      const params = { model: `vendor/${on}`, functions };
      const {
        choices: [first],
      } = await read({ ...params, messages: [user('hi')] });
      expect(first).toMatchObject({
        finish_reason: 'function_call',
        message: { function_call: { name: 'look', arguments: '{"a":1}' } },
      });
      expect(first?.message.tool_calls).toBeUndefined();
      const result = { role: 'function' as const, name: 'look', content: 'ok' };
      const history = [user('hi'), ...(first ? [first.message] : []), result];
      const second = await read({ ...params, messages: history });
      expect(second.choices[0]?.message.content).toBe('Done.');
    },
  );

  test(`a spoken response has its audio, ${form}, and earlier ones are sent back by their id`, async () => {
    const audio = { voice: 'alloy', format: form === 'whole' ? 'mp3' : 'pcm16' } as const;
    const params: Params = {
      model: 'vendor/both',
      messages: [user('hi'), { role: 'assistant', audio: { id: 'audio_0' } }, user('again')],
      modalities: ['text', 'audio'],
      audio,
    };
    const {
      choices: [first],
    } = await read(params);
    expect(first?.message).toMatchObject({ role: 'assistant', audio: AUDIO });
    expect(first?.message.content ?? '').toBe('');
    const sent = upstream.take().at(-1)?.body;
    expect(sent).toMatchObject({ audio });
    expect(sent?.stream ?? false).toBe(form === 'streamed');
  });
});

const AUDIO_OUTPUT = { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'mp3' } };
test.each(
  ['messages', 'responses', 'gemini'].flatMap((target) => [
    { target, fields: { n: 2 }, named: 'n above 1', param: 'n' },
    { target, fields: AUDIO_OUTPUT, named: 'audio', param: 'modalities' },
  ]),
)(
  'a request for $named gets 400 that names the field where the only target speaks $target',
  async ({ target, fields, named, param }) => {
    const charged = await fleet.charged();
    const params = { model: `vendor/${target}`, messages: [user('hi')], ...fields } as Params;
    const error = await rejection<InstanceType<typeof OpenAI.APIError>>(
      client.chat.completions.create(params),
    );
    expect(error.status).toBe(400);
    expect(error.message).toContain(named);
    expect(error.param).toBe(param);
    expect(await fleet.charged()).toBe(charged);
  },
);
