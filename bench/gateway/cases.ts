/** A load: requests of one shape, in a closed loop on `connections` sockets. */
export type Case = {
  name: string;
  /** Requests of one sample. */
  requests: number;
  connections: number;
  /** Events of one response; the cost is given for each of them if it is a stream. */
  events: number;
  stream: boolean;
  path: '/v1/chat/completions' | '/v1/messages';
  body: string;
};

const QUESTION = 'Please explain how a model router chooses a target, in a few words. '.repeat(2);
const SMALL = ['user', 'assistant', 'user'].map((role) => ({ role, content: QUESTION }));

const SYSTEM = 'You are a careful engineer who reads before writing. '.repeat(96);
const TOOLS = Array.from({ length: 20 }, (_, index) => ({
  name: `tool_${index}`,
  description: 'Reads a part of a file of the project and returns its lines with their numbers.',
  input_schema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Path of the file, relative to the project' },
      range: {
        type: 'object',
        properties: { from: { type: 'integer' }, to: { type: 'integer' } },
        required: ['from'],
      },
      options: { type: 'array', items: { type: 'string', enum: ['numbers', 'blame', 'plain'] } },
    },
    required: ['path'],
  },
}));
const ROUNDS = Array.from({ length: 6 }, (_, index) => [
  {
    role: 'assistant',
    content: [{ type: 'tool_use', id: `toolu_${index}`, name: 'tool_1', input: { path: 'a.ts' } }],
  },
  {
    role: 'user',
    content: [
      {
        type: 'tool_result',
        tool_use_id: `toolu_${index}`,
        content: 'const line = 1;\n'.repeat(56),
      },
    ],
  },
]).flat();
/** The body of an agent with 20 tools. */
export const AGENT = {
  system: SYSTEM,
  tools: TOOLS,
  messages: [{ role: 'user', content: 'Fix the test.' }, ...ROUNDS],
};

/** A message of 4,500 bytes. */
const lengthen = (message: object | undefined) => ({
  ...message,
  content: QUESTION.repeat(33).slice(0, 4_450),
});

const chat = { path: '/v1/chat/completions' as const };
const messages = { path: '/v1/messages' as const };
const bodyOf = (events: number, stream: boolean, rest: object): string =>
  JSON.stringify({ model: `bench/${events}`, max_tokens: 100, stream, ...rest });

const caseOf = (
  name: string,
  { path }: Pick<Case, 'path'>,
  load: Pick<Case, 'requests' | 'connections' | 'events' | 'stream'>,
  rest: object = { messages: SMALL },
): Case => ({ name, path, ...load, body: bodyOf(load.events, load.stream, rest) });

const WHOLE = { requests: 300, connections: 20, events: 20, stream: false };

export const CASES: Case[] = [
  caseOf('whole, 20 events, pass-through', chat, WHOLE),
  caseOf('whole, 20 events, translated', messages, WHOLE),
  caseOf('whole, 200 events, translated', messages, { ...WHOLE, requests: 150, events: 200 }),
  caseOf('agent body 29 KB, translated', messages, { ...WHOLE, requests: 150 }, AGENT),
  caseOf(
    '4.5 MB body, pass-through',
    chat,
    { ...WHOLE, requests: 8, connections: 1 },
    { messages: Array.from({ length: 1_001 }, () => SMALL[0]).map(lengthen) },
  ),
  caseOf('stream of 20 events, translated', messages, { ...WHOLE, stream: true }),
  caseOf('stream of 20 events, one connection', messages, {
    ...{ requests: 60, connections: 1, events: 20, stream: true },
  }),
  caseOf('stream of 10,000 events, translated', messages, {
    ...{ requests: 3, connections: 1, events: 10_000, stream: true },
  }),
];

/** Ids of the models that the cases call. */
export const EVENT_COUNTS = [...new Set(CASES.map(({ events }) => events))];
