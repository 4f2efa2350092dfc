import { describe, expect, test } from 'vitest';
import { readJson } from '../../../lambdas/protocols/bytes/json.ts';
import { spliceText } from '../../../lambdas/protocols/bytes/splice.ts';
import { upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { createOriginTagger } from '../../../lambdas/protocols/thinking/origin.ts';
import { sealThinking } from '../../../lambdas/protocols/thinking/sealed.ts';
import { SHARED } from '../../support/families.ts';
import { fc } from '../../support/seeds.ts';
import { readSse } from '../../support/sse-text.ts';
import { decode, LABEL, requestOf, translate, wholeFor } from '../../support/translate.ts';

/**
 * What a caller of the upstream's protocol reads is what the upstream sent, character for character, but at the places that
 * are listed here. Texts are compared, not values: numbers, escapes, white space and the order of members are the upstream's.
 */
type Json = Record<string, unknown>;
type Path = readonly (string | number)[];

/** What a vendor may add tomorrow, with numbers that no reader may round and a name twice. */
const NEW =
  '"zz":{"id":1849173641234567891,"n":[-0.0,1.0,1e400,"\\u00e9"],"id":18446744073709551616}';
const withNew = (json: string): string => json.replaceAll('"zz":0', NEW);

/** Texts that mean the same JSON, as servers in several languages write it. */
const spelled = fc.constantFrom<((value: unknown) => string)[]>(
  (value) => withNew(JSON.stringify(value)),
  (value) => withNew(JSON.stringify(value).replaceAll('":', '": ').replaceAll(',"', ', "')),
  (value) => withNew(JSON.stringify(value).replaceAll('é', '\\u00E9')),
);

const text = fc.oneof(
  fc.constantFrom(' word', ' and', 'é', ' "quoted"', '\\', '\n', '😀', 'vendor/model', 'index'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }),
);
const texts = fc.array(text, { minLength: 1, maxLength: 8 });
const sizes = fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 6 });

/** A message of a stream: what the upstream sends, and the places at which the caller reads another value. */
type Message = { value: Json; edits?: { path: Path; set: unknown }[] | undefined };

const ZZ = { zz: 0 };
const NAMED = [
  { path: ['id'], set: 'chatcmpl-Label' },
  { path: ['model'], set: LABEL.model },
];

// --- chat ---

const CHUNK = { id: 'c1', object: 'chat.completion.chunk', created: 7, model: 'm', ...ZZ };
const CALL = { id: 'call_9', type: 'function', ...ZZ };
const CHAT_USAGE = {
  prompt_tokens: 5,
  completion_tokens: 2,
  total_tokens: 7,
  completion_tokens_details: { reasoning_tokens: 1, ...ZZ },
  ...ZZ,
};

const chunk = (delta: Json, finish: string | null = null): Message => ({
  value: { ...CHUNK, choices: [{ index: 0, delta, finish_reason: finish, ...ZZ }], usage: null },
  edits: NAMED,
});

const chatStream = (said: string[], thought: string[], args: string[]): Message[] => [
  chunk({ role: 'assistant', content: '', refusal: null, ...ZZ }),
  ...thought.map((part) => chunk({ reasoning_content: part })),
  ...said.map((part) => chunk({ content: part, ...ZZ })),
  chunk({ annotations: [ZZ] }),
  chunk({
    tool_calls: [{ index: 0, ...CALL, function: { name: 'read', arguments: '', ...ZZ } }],
  }),
  ...args.map((part) => chunk({ tool_calls: [{ index: 0, function: { arguments: part } }] })),
  chunk({}, 'tool_calls'),
  { value: { ...CHUNK, choices: [], usage: CHAT_USAGE }, edits: NAMED },
];

// --- messages ---

const MESSAGES_USAGE = {
  input_tokens: 5,
  cache_creation_input_tokens: 1,
  cache_read_input_tokens: 2,
  output_tokens: 2,
  output_tokens_details: { thinking_tokens: 1, ...ZZ },
  server_tool_use: { web_search_requests: 1, web_fetch_requests: 0, ...ZZ },
};
const SERVICE = {
  cache_creation: null,
  inference_geo: 'eu',
  service_tier: 'standard',
  speed: null,
  ...ZZ,
};
const END = { container: null, stop_details: null, stop_sequence: null, ...ZZ };
const MESSAGE = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', diagnostics: null },
  ...END,
};
const SEARCH = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {}, ...ZZ };

const sealed = (signature: string) => `mrs1.eeeeeeeeeeee.${signature}`;

const blockEvents = (
  index: number,
  content_block: Json,
  deltas: { delta: Json; edits?: Message['edits'] }[],
): Message[] => [
  { value: { type: 'content_block_start', index, content_block, ...ZZ } },
  ...deltas.map(({ delta, ...rest }) => ({
    value: { type: 'content_block_delta', index, delta, ...ZZ },
    ...rest,
  })),
  { value: { type: 'content_block_stop', index, ...ZZ } },
];

const messagesStream = (said: string[], thought: string[], args: string[]): Message[] => [
  {
    value: {
      type: 'message_start',
      message: {
        ...MESSAGE,
        content: [],
        stop_reason: null,
        usage: { ...MESSAGES_USAGE, ...SERVICE },
      },
      ...ZZ,
    },
    edits: [
      { path: ['message', 'id'], set: 'msg_Label' },
      { path: ['message', 'model'], set: LABEL.model },
    ],
  },
  { value: { type: 'event_of_tomorrow', ...ZZ } },
  ...blockEvents(0, { type: 'thinking', thinking: '', signature: '', ...ZZ }, [
    ...thought.map((thinking) => ({ delta: { type: 'thinking_delta', thinking } })),
    {
      delta: { type: 'signature_delta', signature: 's', ...ZZ },
      edits: [{ path: ['delta', 'signature'], set: sealed('s') }],
    },
  ]),
  ...blockEvents(1, SEARCH, [{ delta: { type: 'input_json_delta', partial_json: '{"q":"a"}' } }]),
  ...blockEvents(2, { type: 'block_of_tomorrow', ...ZZ }, [
    { delta: { type: 'delta_of_tomorrow', ...ZZ } },
  ]),
  ...blockEvents(3, { type: 'text', text: '', ...ZZ }, [
    ...said.map((part) => ({ delta: { type: 'text_delta', text: part } })),
    { delta: { type: 'citations_delta', citation: { type: 'char_location', ...ZZ } } },
    { delta: { type: 'delta_of_tomorrow', ...ZZ } },
  ]),
  ...blockEvents(4, { type: 'tool_use', id: 'toolu_1', name: 'read', input: {}, ...ZZ }, [
    { delta: { type: 'input_json_delta', partial_json: '' } },
    ...args.map((partial_json) => ({ delta: { type: 'input_json_delta', partial_json } })),
  ]),
  {
    value: {
      type: 'message_delta',
      delta: { ...END, stop_reason: 'tool_use' },
      usage: MESSAGES_USAGE,
      context_management: ZZ,
      ...ZZ,
    },
  },
  { value: { type: 'message_stop', ...ZZ } },
];

// --- responses ---

const RESPONSES_USAGE = {
  input_tokens: 5,
  input_tokens_details: { cached_tokens: 2, cache_write_tokens: 0, ...ZZ },
  output_tokens: 2,
  output_tokens_details: { reasoning_tokens: 1, ...ZZ },
  total_tokens: 7,
  ...ZZ,
};
const RESPONSE = {
  ...{ id: 'resp_1', object: 'response', created_at: 7, status: 'in_progress', model: 'm' },
  ...{ output: [] as Json[], usage: null, service_tier: 'default', ...ZZ },
};
const OURS = [
  { path: ['id'], set: 'resp_Label' },
  { path: ['model'], set: LABEL.model },
];
const within = (edits: NonNullable<Message['edits']>, ...path: Path): Message['edits'] =>
  edits.map((edit) => ({ ...edit, path: [...path, ...edit.path] }));

/** Items as they end, with what no other protocol has. */
const itemsOf = (said: string[], thought: string[], args: string[]): Json[] => [
  {
    ...{ id: 'rs_1', type: 'reasoning', encrypted_content: 's', ...ZZ },
    summary: [{ type: 'summary_text', text: thought.join(''), ...ZZ }],
  },
  { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', ...ZZ } },
  {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', ...ZZ },
    phase: 'commentary',
    content: [
      {
        ...{ type: 'output_text', text: said.join(''), logprobs: [], ...ZZ },
        annotations: [{ type: 'url_citation', ...ZZ }],
      },
    ],
  },
  {
    ...{ id: 'fc_1', type: 'function_call', call_id: 'call_9', name: 'read', ...ZZ },
    ...{ status: 'completed', arguments: args.join('') },
  },
];
const sealOf = (thought: string[]): string =>
  sealThinking({ text: thought.join(''), signature: sealed('s') });

/** Where the text of an item is in its deltas. */
const DELTAS: Record<string, { name: string; part?: string; place: Json }> = {
  reasoning: {
    ...{ name: 'reasoning_summary_text', part: 'reasoning_summary_part' },
    place: { summary_index: 0 },
  },
  message: { name: 'output_text', part: 'content_part', place: { content_index: 0 } },
  function_call: { name: 'function_call_arguments', place: {} },
};

const responsesStream = (said: string[], thought: string[], args: string[]): Message[] => {
  const called = args.length === 0 ? ['{}'] : args;
  const items = itemsOf(said, thought, called);
  const parts: Record<string, string[]> = {
    reasoning: thought,
    message: said,
    function_call: called,
  };
  const begun = { value: { type: 'response.created', response: RESPONSE, ...ZZ } };
  const seal = { path: ['encrypted_content'], set: sealOf(thought) };
  const events: Message[] = items.flatMap((item, index) => {
    const type = String(item.type);
    const { name, part, place } = DELTAS[type] ?? { name: '', place: {} };
    const at = { item_id: item.id, output_index: index, ...place };
    const empty = { ...item, content: [], summary: [], arguments: '', encrypted_content: 'begun' };
    return [
      { value: { type: 'response.output_item.added', output_index: index, item: empty, ...ZZ } },
      ...(part ? [{ value: { type: `response.${part}.added`, ...at, ...ZZ } }] : []),
      ...(parts[type] ?? []).map((delta) => ({
        value: { type: `response.${name}.delta`, ...at, delta, ...ZZ },
      })),
      {
        value: { type: 'response.output_item.done', output_index: index, item, ...ZZ },
        edits: type === 'reasoning' ? within([seal], 'item') : undefined,
      },
    ];
  });
  const response = { ...RESPONSE, status: 'completed', output: items, usage: RESPONSES_USAGE };
  const all: Message[] = [
    { ...begun, edits: within(OURS, 'response') },
    {
      value: { type: 'response.in_progress', response: RESPONSE, ...ZZ },
      edits: within(OURS, 'response'),
    },
    { value: { type: 'response.event_of_tomorrow', ...ZZ } },
    ...events,
    {
      value: { type: 'response.completed', response },
      edits: [
        ...(within(OURS, 'response') ?? []),
        ...(within([seal], 'response', 'output', 0) ?? []),
      ],
    },
  ];
  return all.map(({ value, edits }, sequence_number) => ({
    value: { ...value, sequence_number },
    edits,
  }));
};

/** The spellings change these within a text too, which its deltas would not add up to and its seal would not hold. */
const plain = (parts: string[]): string[] => parts.map((part) => part.replaceAll(/[",:]/g, '.'));

const STREAMS = {
  chat: chatStream,
  messages: messagesStream,
  responses: (said: string[], thought: string[], args: string[]) =>
    responsesStream(plain(said), plain(thought), args),
};
const ASKED = { chat: { stream_options: { include_usage: true } }, messages: {}, responses: {} };
const ARGUMENTS = [[], ['{}'], ['{"a', '":1849173641234567891}']];

// --- whole ---

const WHOLES = {
  chat: (said: string): Message => ({
    value: {
      ...CHUNK,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            ...{ role: 'assistant', content: said, refusal: null, annotations: [ZZ] },
            tool_calls: [{ ...CALL, function: { name: 'read', arguments: '{"a": 1.0}', ...ZZ } }],
            ...ZZ,
          },
          logprobs: null,
          finish_reason: 'tool_calls',
          ...ZZ,
        },
      ],
      usage: CHAT_USAGE,
    },
    edits: NAMED,
  }),
  messages: (said: string): Message => ({
    value: {
      ...MESSAGE,
      content: [
        { type: 'thinking', thinking: said, signature: 's', ...ZZ },
        { ...SEARCH, input: { q: 'a', ...ZZ } },
        { type: 'block_of_tomorrow', ...ZZ },
        { type: 'text', text: said, citations: [{ type: 'char_location', ...ZZ }], ...ZZ },
        { type: 'tool_use', id: 'toolu_1', name: 'read', input: { account: said, ...ZZ }, ...ZZ },
      ],
      stop_reason: 'tool_use',
      usage: { ...MESSAGES_USAGE, ...SERVICE },
    },
    edits: [
      { path: ['id'], set: 'msg_Label' },
      { path: ['model'], set: LABEL.model },
      { path: ['content', 0, 'signature'], set: sealed('s') },
    ],
  }),
  responses: (said: string): Message => ({
    value: {
      ...{ ...RESPONSE, status: 'completed', usage: RESPONSES_USAGE },
      output: itemsOf([said], [said], ['{"a": 1.0}']),
    },
    edits: [...OURS, { path: ['output', 0, 'encrypted_content'], set: sealOf([said]) }],
  }),
};

/**
 * Places of new members in a collected response. Of chat: the response, its choice, message, annotation, call, function, usage
 * and its details. Of messages: the message, its five blocks, a citation, three in the usage, the edits of the context. Of
 * responses: the response, three of its items and an action, a summary, a text, a citation, the usage and its details.
 */
const COLLECTED = { chat: 8, messages: 11, responses: 11 };

/** What the caller reads of a text. */
const read = (json: string, { edits = [] }: Message): string => spliceText(json, edits);

describe.each(SHARED)('a %s response for a caller of its protocol', (name) => {
  const request = requestOf(name, ASKED[name]);

  test('a stream is what the upstream sent but for the listed places, however it is cut', async () => {
    const input = fc.record({ said: texts, thought: texts, spell: spelled, sizes });
    const args = fc.constantFrom(...ARGUMENTS.filter((parts) => name !== 'chat' || parts.length));
    await fc.assert(
      fc.asyncProperty(input, args, async ({ said, thought, spell, ...cut }, parts) => {
        const messages = STREAMS[name](said, thought, parts);
        const sent = messages.map(({ value }) => spell(value));
        const wire = sent.map((data) => `data: ${data}\n\n`).join('');
        const done = name === 'chat' ? ['[DONE]'] : [];
        const got = await translate(
          name,
          name,
          `${wire}${done.map((data) => `data: ${data}\n\n`)}`,
          {
            request,
            ...cut,
          },
        );
        const expected = messages.map((message, at) => read(sent[at] ?? '', message));
        expect(readSse(got).map(({ data }) => data)).toEqual([...expected, ...done]);
      }),
    );
  });

  test('a whole response is what the upstream sent but for the listed places', async () => {
    const asked = { ...request, stream: false };
    await fc.assert(
      fc.asyncProperty(text, spelled, async (said, spell) => {
        const message = WHOLES[name](plain([said]).join(''));
        const sent = spell(message.value);
        const tag = createOriginTagger('eeeeeeeeeeee');
        const events = upstreamProtocols[name].decodeResponse(readJson(sent), asked, sent);
        expect(await wholeFor(name, events.map(tag), asked)).toBe(read(sent, message));
      }),
    );
  });

  test('a stream that is collected has every member of its messages, numbers as written', async () => {
    const messages = STREAMS[name](['Hi', ' you'], ['So', '.'], ['{"a":1e400}']);
    const wire = messages
      .map(({ value }) => `data: ${withNew(JSON.stringify(value))}\n\n`)
      .join('');
    const asked = { ...request, stream: false };
    const { events } = await decode(upstreamProtocols[name], wire, asked);
    const whole = await wholeFor(name, events, asked);
    expect(whole).toContain(name === 'messages' ? '{"a":1e400}' : '{\\"a\\":1e400}');
    const kept = '"zz":{"id":18446744073709551616,"n":[-0.0,1.0,1e400,"é"';
    expect(whole.split(kept).length - 1).toBe(COLLECTED[name]);
    expect(whole).toMatch(/So\./);
    expect(whole).toMatch(/Hi you/);
  });
});
