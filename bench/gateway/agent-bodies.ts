/** Conversations of a coding agent, of any size, in the words of each protocol. */
import { hash } from 'node:crypto';

const SYSTEM = 'You are a careful engineer who reads before writing. '.repeat(142);

export const TOOLS = Array.from({ length: 20 }, (_, index) => ({
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
/** 4.4 KB of a file, with quotes, line breaks and some text that is not ASCII. */
const CODE = `export const read = (path: string): string => {
  // Größe und Länge prüfen – 読み込み: "${'x'.repeat(12)}"
  if (path === '') throw new Error("no path");
  return files.get(path)?.text ?? '';\n};\n`.repeat(20);

const THOUGHT = 'The test expects an error for an empty path, so the check comes first. '.repeat(6);
/** As the router marks what the bench's upstream signed. */
const signatureOf = (model: string) =>
  `mrs1.${hash('sha256', `bench\n${model}`).slice(0, 12)}.${'EqQBCkgIARABGAIiQL8'.repeat(16)}`;

type Round = { id: string; path: string; result: string };

const addRound = (rounds: Round[], length: number): number => {
  const result = CODE.slice(0, length).padEnd(length, ' ');
  rounds.push({ id: `toolu_${rounds.length}`, path: `src/file-${rounds.length}.ts`, result });
  return result.length + THOUGHT.length + 600;
};

/** As many rounds of tools as make about `bytes`: results of 1 to 8 KB. Each further step has one with a short result. */
const roundsOf = (bytes: number, steps: number): Round[] => {
  const rounds: Round[] = [];
  for (let size = 0; size < bytes - 24_000; ) {
    size += addRound(rounds, 1_000 + ((rounds.length * 1_700) % 7_000));
  }
  for (let step = 0; step < steps; step += 1) addRound(rounds, 200);
  return rounds;
};

/** The number of a session, of eight digits, is behind it: two sessions say nothing alike. */
export const SESSION_MARK = 'issue #';
const ISSUE = `${SESSION_MARK}00000000`;
const QUESTION = `Fix the test of ${ISSUE}.`;

const MARK = { cache_control: { type: 'ephemeral' } };

/** In the order in which Claude Code writes the members: what each step has again comes last. */
const messagesBody = (rounds: Round[], signature: string) => ({
  messages: [
    { role: 'user', content: [{ type: 'text', text: QUESTION }] },
    ...rounds.flatMap(({ id, path, result }) => [
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: THOUGHT, signature },
          { type: 'text', text: `I read ${path} for ${ISSUE}.` },
          { type: 'tool_use', id, name: 'tool_1', input: { path, range: { from: 1, to: 200 } } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: result }] },
    ]),
  ],
  system: [
    { type: 'text', text: 'You are an agent.' },
    { type: 'text', text: SYSTEM, ...MARK },
    { type: 'text', text: SYSTEM, ...MARK },
  ],
  tools: TOOLS,
  thinking: { type: 'adaptive' },
});

/** As Cline and OpenCode write them. */
const chatBody = (rounds: Round[]) => ({
  messages: [
    { role: 'system', content: SYSTEM + SYSTEM },
    { role: 'user', content: QUESTION },
    ...rounds.flatMap(({ id, path, result }) => [
      {
        role: 'assistant',
        content: `I read ${path} for ${ISSUE}. ${THOUGHT}`,
        tool_calls: [
          {
            ...{ id, type: 'function' },
            function: { name: 'tool_1', arguments: JSON.stringify({ path, range: { from: 1 } }) },
          },
        ],
      },
      { role: 'tool', tool_call_id: id, content: result },
    ]),
  ],
  tools: TOOLS.map(({ name, description, input_schema: parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  })),
});

/** As Codex writes them. */
const responsesBody = (rounds: Round[]) => ({
  instructions: SYSTEM + SYSTEM,
  input: [
    { role: 'user', content: QUESTION },
    ...rounds.flatMap(({ id, path, result }) => [
      { role: 'assistant', content: `I read ${path} for ${ISSUE}. ${THOUGHT}` },
      { type: 'function_call', call_id: id, name: 'tool_1', arguments: JSON.stringify({ path }) },
      { type: 'function_call_output', call_id: id, output: result },
    ]),
  ],
  tools: TOOLS.map(({ name, description, input_schema: parameters }) => ({
    ...{ type: 'function', name, description, parameters, strict: false },
  })),
});

/** The body of an agent that has worked for a while, of about `bytes`, and that a number of steps later. */
export const agentBody = {
  messages: (bytes: number, model: string, steps = 0) =>
    messagesBody(roundsOf(bytes, steps), signatureOf(model)),
  chat: (bytes: number, _: string, steps = 0) => chatBody(roundsOf(bytes, steps)),
  responses: (bytes: number, _: string, steps = 0) => responsesBody(roundsOf(bytes, steps)),
};
