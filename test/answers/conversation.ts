import type { CallerProtocolName } from '../../lambdas/protocols/protocol.ts';
import type { Random } from '../simulation/random.ts';
import type { Meant } from '../support/strict-upstream/wire-response.ts';
import type { Wire } from '../support/wires.ts';
import { argumentsOf, pickFrom, textOf } from './random-values.ts';

type Call = { id: string; name: string; arguments: string; result: string };
type Question = { text: string; image: string | undefined };
export type Round = { question: Question; said: string; calls: Call[] };

/** What a caller means, in the words of no protocol. */
export type Conversation = {
  system: string | undefined;
  rounds: Round[];
  question: Question;
  tools: { name: string; description: string }[];
  stop: string[];
  temperature: number | undefined;
  /** `unset` leaves the choice to the protocol's default, which is `auto`. */
  choice: 'auto' | 'required' | 'unset';
};

/** Protocols of upstreams. */
export type Caller = CallerProtocolName;

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const TOOLS = ['read_file', 'Write', 'mcp__server__a-tool-with-a-long-name-of-62-characters-in-it'];
const IDS = {
  chat: ['call_', 'functions.Bash:', 'chatcmpl-tool-'],
  messages: ['toolu_01', 'call-'],
  responses: ['call_'],
  gemini: ['fc_', 'call-'],
};

export const questionOf = (random: Random): Question => ({
  text: textOf(random),
  image: random.chance(0.15) ? PNG : undefined,
});

/** Ids as servers of the protocol make them; unique, since `serial` goes up. */
const idOf = (random: Random, wire: Caller | Wire, serial: number): string =>
  `${pickFrom(random, IDS[wire])}${serial}`;

let serial = 0;

export const callsOf = (random: Random, wire: Caller | Wire): Meant['calls'] =>
  Array.from({ length: random.between(1, 3) }, () => {
    serial += 1;
    const id = idOf(random, wire, serial);
    const text = JSON.stringify(argumentsOf(random), null, random.between(0, 2));
    return { id, name: pickFrom(random, TOOLS), arguments: text };
  });

const roundOf = (random: Random, caller: Caller): Round => {
  const calls = random.chance(0.5) ? callsOf(random, caller) : [];
  return {
    question: questionOf(random),
    said: calls.length > 0 && random.chance(0.5) ? '' : textOf(random),
    calls: calls.map((call) => ({ ...call, result: textOf(random) })),
  };
};

export const conversationOf = (random: Random, caller: Caller): Conversation => ({
  system: random.chance(0.5) ? textOf(random) : undefined,
  rounds: Array.from({ length: random.between(0, 3) }, () => roundOf(random, caller)),
  question: questionOf(random),
  tools: TOOLS.map((name) => ({ name, description: textOf(random) })),
  stop:
    caller !== 'responses' && random.chance(0.3)
      ? ['STOP', '\n\nHuman:', '🙂'].slice(0, random.between(1, 3))
      : [],
  temperature: random.chance(0.3) ? random.between(0, 9) / 10 : undefined,
  choice: pickFrom(random, ['auto', 'required', 'unset'] as const),
});

const SCHEMA = { type: 'object', properties: { path: { type: 'string' } } };

const chatUser = ({ text, image }: Question) => ({
  role: 'user',
  content:
    image === undefined
      ? text
      : [
          { type: 'text', text },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } },
        ],
});

const chatRound = ({ question, said, calls }: Round) => [
  chatUser(question),
  {
    role: 'assistant',
    content: said === '' ? null : said,
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, arguments: text }) => ({
        id,
        type: 'function',
        function: { name, arguments: text },
      })),
    }),
  },
  ...calls.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result })),
];

const toChat = ({ system, rounds, question, tools, ...rest }: Conversation) => ({
  messages: [
    ...(system === undefined ? [] : [{ role: 'system', content: system }]),
    ...rounds.flatMap(chatRound),
    chatUser(question),
  ],
  tools: tools.map((tool) => ({ type: 'function', function: { ...tool, parameters: SCHEMA } })),
  ...(rest.choice !== 'unset' && { tool_choice: rest.choice }),
  ...(rest.stop.length > 0 && { stop: rest.stop }),
  ...(rest.temperature !== undefined && { temperature: rest.temperature }),
});

const messagesUser = ({ text, image }: Question) => [
  { type: 'text', text },
  ...(image === undefined
    ? []
    : [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: image } }]),
];

const messagesRound = ({ said, calls }: Round) => ({
  role: 'assistant',
  content: [
    ...(said === '' ? [] : [{ type: 'text', text: said }]),
    ...calls.map(({ id, name, arguments: text }) => ({
      type: 'tool_use',
      id,
      name,
      input: JSON.parse(text),
    })),
  ],
});

const toMessages = ({ system, rounds, question, tools, ...rest }: Conversation) => {
  const asked = [...rounds.map((round) => round.question), question];
  const results = [[], ...rounds.map(({ calls }) => calls)];
  const users = asked.map((one, at) => ({
    role: 'user',
    content: [
      ...(results[at] ?? []).map(({ id, result }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: result,
      })),
      ...messagesUser(one),
    ],
  }));
  return {
    ...(system !== undefined && { system }),
    messages: users.flatMap((user, at) => {
      const round = rounds[at];
      return round ? [user, messagesRound(round)] : [user];
    }),
    tools: tools.map((tool) => ({ ...tool, input_schema: SCHEMA })),
    ...(rest.choice !== 'unset' && {
      tool_choice: { type: rest.choice === 'required' ? 'any' : 'auto' },
    }),
    ...(rest.stop.length > 0 && { stop_sequences: rest.stop }),
    ...(rest.temperature !== undefined && { temperature: rest.temperature }),
  };
};

const responsesUser = ({ text, image }: Question) => ({
  role: 'user',
  content: [
    { type: 'input_text', text },
    ...(image === undefined
      ? []
      : [{ type: 'input_image', image_url: `data:image/png;base64,${image}` }]),
  ],
});

const responsesRound = ({ question, said, calls }: Round) => [
  responsesUser(question),
  ...(said === ''
    ? []
    : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: said }] }]),
  ...calls.map(({ id, name, arguments: text }) => ({
    type: 'function_call',
    call_id: id,
    name,
    arguments: text,
  })),
  ...calls.map(({ id, result }) => ({ type: 'function_call_output', call_id: id, output: result })),
];

const toResponses = ({ system, rounds, question, tools, ...rest }: Conversation) => ({
  ...(system !== undefined && { instructions: system }),
  input: [...rounds.flatMap(responsesRound), responsesUser(question)],
  store: false,
  tools: tools.map((tool) => ({ type: 'function', ...tool, parameters: SCHEMA, strict: false })),
  ...(rest.choice !== 'unset' && { tool_choice: rest.choice }),
  ...(rest.temperature !== undefined && { temperature: rest.temperature }),
});

/** Enough for arguments of 170 KB. */
const MAX_TOKENS = 50_000;

const BODIES = {
  chat: (conversation: Conversation, stream: boolean) => ({
    ...toChat(conversation),
    max_tokens: MAX_TOKENS,
    ...(stream && { stream_options: { include_usage: true } }),
  }),
  messages: (conversation: Conversation) => ({
    ...toMessages(conversation),
    max_tokens: MAX_TOKENS,
  }),
  responses: (conversation: Conversation) => ({
    ...toResponses(conversation),
    max_output_tokens: MAX_TOKENS,
  }),
};

/** The conversation as a request of the caller's protocol. */
export const requestOf = (
  caller: Caller,
  conversation: Conversation,
  { model, stream }: { model: string; stream: boolean },
): string => JSON.stringify({ model, stream, ...BODIES[caller](conversation, stream) });

/** One JSON text for arguments of equal meaning. */
export const canonical = (text: string): string => JSON.stringify(JSON.parse(text));

/** The conversation as a list of statements, in order; tool ids are left out. */
export const statementsOf = ({ system, rounds, question, ...rest }: Conversation): string[][] => {
  const asked = ({ text, image }: Question) => [
    ['user', text],
    ...(image === undefined ? [] : [['image', image]]),
  ];
  return [
    ...(system === undefined ? [] : [['system', system]]),
    ...rounds.flatMap((round) => [
      ...asked(round.question),
      ...(round.said === '' ? [] : [['assistant', round.said]]),
      ...round.calls.map(({ name, arguments: text }) => ['call', name, canonical(text)]),
      ...round.calls.map(({ name, result }) => ['result', name, result]),
    ]),
    ...asked(question),
    ...rest.tools.map(({ name, description }) => ['tool', name, description]),
    ...rest.stop.map((text) => ['stop', text]),
    ['temperature', String(rest.temperature)],
    ['choice', rest.choice === 'required' ? 'required' : 'auto'],
  ];
};
