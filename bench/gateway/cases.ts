import { oncePer } from '../../lambdas/support/memo.ts';
import { agentBody, TOOLS } from './agent-bodies.ts';

/** A load: requests of one shape, in a closed loop on `connections` sockets. */
export type Case = {
  name: string;
  /** Requests of one sample. */
  requests: number;
  connections: number;
  /** Events of one response; the cost is given for each of them if it is a stream. */
  events: number;
  stream: boolean;
  path: '/v1/chat/completions' | '/v1/messages' | '/v1/responses';
  /** The stand-in reads the shape of its response from it: `bench/<events>`, `bench/<events>/<ms between two>`, `…/messages`. */
  model: string;
  body: string;
  /** Sessions of some steps, each with the body of the one before it and more. @default every request has `body` */
  session?: { steps: number; bodyOf(step: number): string };
  /** Whether the client accepts gzip. @default false */
  acceptsGzip?: boolean;
};

const QUESTION = 'Please explain how a model router chooses a target, in a few words. '.repeat(2);
const SMALL = ['user', 'assistant', 'user'].map((role) => ({ role, content: QUESTION }));

const SYSTEM = 'You are a careful engineer who reads before writing. '.repeat(96);
const CALLS = Array.from({ length: 6 }, (_, index) => `toolu_${index}`);
const RESULT = 'const line = 1;\n'.repeat(56);

/** The body of an agent with 20 tools. */
export const AGENT = {
  system: SYSTEM,
  tools: TOOLS,
  messages: [
    { role: 'user', content: 'Fix the test.' },
    ...CALLS.flatMap((id) => [
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id, name: 'tool_1', input: { path: 'a.ts' } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: RESULT }] },
    ]),
  ],
};

const call = { name: 'tool_1', arguments: '{"path":"a.ts"}' };
/** The same conversation in the chat protocol. */
const CHAT_AGENT = {
  tools: TOOLS.map(({ name, description, input_schema: parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  })),
  messages: [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: 'Fix the test.' },
    ...CALLS.flatMap((id) => [
      { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: call }] },
      { role: 'tool', tool_call_id: id, content: RESULT },
    ]),
  ],
};

/** A message of 4,500 bytes. */
const lengthen = (message: object | undefined) => ({
  ...message,
  content: QUESTION.repeat(33).slice(0, 4_450),
});

const chat = { path: '/v1/chat/completions' as const };
const messages = { path: '/v1/messages' as const };
const responses = { path: '/v1/responses' as const };

const caseOf = (
  name: string,
  { path }: Pick<Case, 'path'>,
  load: Pick<Case, 'requests' | 'connections' | 'events' | 'stream'> & { model?: string },
  rest: object = { messages: SMALL },
): Case => {
  const { model = `bench/${load.events}`, stream } = load;
  const cap = path === '/v1/responses' ? 'max_output_tokens' : 'max_tokens';
  const body = JSON.stringify({ model, [cap]: 100, stream, ...rest });
  return { name, path, ...load, model, body };
};

const WHOLE = { requests: 300, connections: 20, events: 20, stream: false };
const AGENT_LOAD = { ...WHOLE, requests: 150, connections: 5 };

export const CASES: Case[] = [
  caseOf('whole, 20 events, pass-through', chat, WHOLE),
  caseOf('whole, 20 events, translated', messages, WHOLE),
  caseOf('whole, 200 events, translated', messages, { ...WHOLE, requests: 150, events: 200 }),
  caseOf('agent body 29 KB, pass-through', chat, AGENT_LOAD, CHAT_AGENT),
  caseOf('agent body 29 KB, translated', messages, AGENT_LOAD, AGENT),
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

/** The same streams for a client that accepts gzip. */
const compressed = (current: Case): Case => ({
  ...current,
  name: `${current.name}, gzip`,
  acceptsGzip: true,
});
CASES.push(...CASES.filter(({ stream }) => stream).map(compressed));

const ON_MESSAGES = 'bench/20/messages';

/** So many steps of a session reach one process; the first of them is read whole. */
const STEPS = 20;

/** The protocols of a caller and of an upstream, with what the caller sends to one whose model has the name `shape`. */
export const PAIRS = [
  { pair: 'messages to messages', caller: messages, to: '/messages', write: agentBody.messages },
  { pair: 'chat to chat', caller: chat, to: '', write: agentBody.chat },
  { pair: 'messages to chat', caller: messages, to: '', write: agentBody.messages },
  { pair: 'responses to messages', caller: responses, to: '/messages', write: agentBody.responses },
  { pair: 'messages to responses', caller: messages, to: '/responses', write: agentBody.messages },
  { pair: 'messages to gemini', caller: messages, to: '/gemini', write: agentBody.messages },
];

/** Bodies of an agent that has worked for a while. */
const AGENTS = [30, 100, 250, 400, 800].flatMap((kilobytes) =>
  PAIRS.map(({ pair, caller, to, write }) => {
    const load = { ...WHOLE, requests: Math.ceil(4_000 / kilobytes), connections: 5 };
    const name = `agent body ${kilobytes} KB, ${pair}`;
    const model = `bench/20${to}`;
    const at = (step: number) =>
      caseOf(name, caller, { ...load, model }, write(kilobytes * 1_000, ON_MESSAGES, step));
    const bodyOf = oncePer(new Map<number, string>(), (step: number) => at(step).body);
    return { ...at(0), session: { steps: STEPS, bodyOf } };
  }),
);
/** The same in sessions of one step: no body begins as one before it. */
const FIRST_STEPS = AGENTS.map((current) => ({
  ...current,
  name: `${current.name}, first step`,
  session: { steps: 1, bodyOf: () => current.body },
}));
CASES.push(...AGENTS, ...FIRST_STEPS);

/** Its first event is timed; the second follows a millisecond later, so that they do not share a write. */
export const FIRST_EVENT = caseOf('first event', messages, {
  ...{ requests: 60, connections: 1, events: 2, stream: true, model: 'bench/2/1' },
});

export const FIRST_EVENT_COMPRESSED = compressed(FIRST_EVENT);

/** The same with the body of an agent. */
export const FIRST_EVENT_OF_AGENT = caseOf(
  'first event, agent body 30 KB',
  messages,
  { requests: 60, connections: 1, events: 2, stream: true, model: 'bench/2/1/messages' },
  agentBody.messages(30_000, 'bench/2/1/messages'),
);

/** The first requests of a process. */
export const YOUNG = caseOf('young process', chat, { ...WHOLE, requests: 20, connections: 1 });

export const MODELS = [
  ...new Set([...CASES, FIRST_EVENT, FIRST_EVENT_OF_AGENT].map(({ model }) => model)),
];
