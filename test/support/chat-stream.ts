import { expect } from 'vitest';
import { ChatChunk, ChatError } from './chat-schema.ts';
import { type Json, parseJson, type WireEvent } from './sse-text.ts';

type WireTool = { id: unknown; name: unknown; isCustom: boolean; arguments: string };

/** What a chat stream adds up to. */
type ChatAnswer = {
  isError: boolean;
  finish: unknown;
  text: string;
  reasoning: string;
  tools: WireTool[];
};

const FINISHES = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call'];
const SOMETHING = expect.stringMatching(/.+/);

/** The rules of one fragment: the first one of a call names it, indices are dense. */
const addTool = (tools: WireTool[], call: Json) => {
  const index = call.index as number;
  const called = (call.function ?? call.custom ?? {}) as Json;
  if (index === tools.length) {
    expect(call).toMatchObject({ id: SOMETHING });
    expect(called).toMatchObject({ name: SOMETHING });
    tools.push({ id: call.id, name: called.name, isCustom: 'custom' in call, arguments: '' });
  } else {
    expect(index, 'tool indices are dense').toBeLessThan(tools.length);
    expect(call, 'id and name only once').not.toHaveProperty('id');
  }
  const tool = tools[index];
  const text = called.arguments ?? called.input;
  if (tool) tool.arguments += (text as string | undefined) ?? '';
};

/** Chunks of one choice of several, with those of all. */
const chunksOf = (index: number, chunks: Json[]): Json[] =>
  chunks.filter(({ choices }) => ((choices as Json[])[0]?.index ?? index) === index);

const readChunks = (index: number, chunks: Json[]) => {
  const answer = { finishes: [] as unknown[], roles: 0, text: '', reasoning: '' };
  const tools: WireTool[] = [];
  for (const chunk of chunksOf(index, chunks)) {
    expect(ChatChunk.safeParse(chunk).error, JSON.stringify(chunk)).toBeUndefined();
    const [choice] = chunk.choices as Json[];
    if (!choice) {
      expect(answer.finishes.length, 'the usage chunk comes after the finish').toBe(1);
      expect(chunk.usage).toMatchObject({ prompt_tokens: expect.any(Number) });
      continue;
    }
    expect(answer.finishes, 'nothing comes after the finish').toEqual([]);
    if (choice.finish_reason !== null) answer.finishes.push(choice.finish_reason);
    const delta = choice.delta as Json;
    if ('role' in delta) answer.roles += 1;
    else expect(answer.roles, 'the role comes first').toBe(1);
    answer.text += (delta.content as string | undefined) ?? '';
    answer.reasoning += (delta.reasoning_content as string | undefined) ?? '';
    for (const call of (delta.tool_calls as Json[] | undefined) ?? []) addTool(tools, call);
  }
  return { ...answer, tools };
};

const assertFinish = (finish: unknown, tools: WireTool[]) => {
  expect(FINISHES).toContain(finish);
  if (finish === 'tool_calls') {
    expect(tools.length).toBeGreaterThan(0);
    const functions = tools.filter(({ isCustom }) => !isCustom);
    for (const tool of functions) expect(JSON.parse(tool.arguments)).toBeTypeOf('object');
  }
  if (finish === 'stop') expect(tools).toEqual([]);
  expect(new Set(tools.map(({ id }) => id)).size, 'tool ids are unique').toBe(tools.length);
};

/** Holds a chat stream against the family's rules, by `expect`, and adds it up. */
export const assertChatStream = (events: WireEvent[]): ChatAnswer => {
  const told = events.filter(({ data }) => data !== '[DONE]').map(({ data }) => parseJson(data));
  // The SDKs read null, which a server may send with each chunk, as none.
  const isError = told.some(({ error }) => error != null);
  const named = events.filter(({ event }) => event !== undefined);
  expect(named, 'only an error has a name, and it is the last message').toEqual(
    isError ? [{ event: 'error', data: events.at(-1)?.data }] : [],
  );
  if (isError) expect(ChatError.safeParse(told.at(-1)).error).toBeUndefined();
  const chunks = isError ? told.slice(0, -1) : told;
  const done = events.findIndex(({ data }) => data === '[DONE]');
  expect(done, '[DONE] is the last word, and an error has none').toBe(
    isError ? -1 : events.length - 1,
  );
  const last = Math.max(
    0,
    ...chunks.map(({ choices }) => Number((choices as Json[])[0]?.index ?? 0)),
  );
  const choices = Array.from({ length: last + 1 }, (_, index) => readChunks(index, chunks));
  for (const { finishes, roles, tools } of choices) {
    expect(finishes.length, 'one finish, or an error').toBe(isError ? 0 : 1);
    if (isError) continue;
    expect(roles).toBe(1);
    assertFinish(finishes[0], tools);
  }
  const [
    {
      finishes: [finish],
      text,
      reasoning,
      tools,
    } = readChunks(0, []),
  ] = choices;
  return { isError, finish, text, reasoning, tools };
};
