import { expect } from 'vitest';

/** One event of a stream as a caller reads it. */
export type WireEvent = { event?: string; data: string };

type Json = Record<string, unknown>;

/** The events of an SSE text; comments are left out. */
export const readSse = (text: string): WireEvent[] =>
  text
    .split('\n\n')
    .filter((part) => part !== '' && !part.startsWith(':'))
    .map((part) => {
      const lines = part.split('\n');
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const event = field('event');
      const data = field('data') ?? '';
      return event === undefined ? { data } : { event, data };
    });

const parse = (data: string): Json => JSON.parse(data) as Json;

const assertJsonObject = (text: string) => {
  const value: unknown = JSON.parse(text);
  expect(value).toBeTypeOf('object');
};

/** What a well-formed chat stream adds up to; throws (by expect) on the first broken rule. */
export const assertChatStream = (events: WireEvent[]) => {
  const isError = events.some(({ data }) => data !== '[DONE]' && 'error' in parse(data));
  const last = events.at(-1)?.data;
  if (isError) expect(last, 'no [DONE] after an error').not.toBe('[DONE]');
  else expect(last, '[DONE] ends the stream').toBe('[DONE]');
  const chunks = events.filter(({ data }) => data !== '[DONE]').map(({ data }) => parse(data));
  const finishes: unknown[] = [];
  const tools: { id: unknown; name: unknown; arguments: string }[] = [];
  let roles = 0;
  let text = '';
  let reasoning = '';
  for (const chunk of chunks) {
    expect(chunk).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-.+/),
      object: 'chat.completion.chunk',
      created: expect.any(Number),
      model: expect.any(String),
    });
    const [choice] = chunk.choices as Json[];
    if (!choice) {
      expect(finishes.length, 'the usage chunk comes after the finish').toBe(1);
      expect(chunk.usage).toMatchObject({ prompt_tokens: expect.any(Number) });
      continue;
    }
    expect(choice.index).toBe(0);
    expect(finishes.length, 'nothing after the finish').toBe(0);
    if (choice.finish_reason !== null) finishes.push(choice.finish_reason);
    const delta = choice.delta as Json;
    if ('role' in delta) roles += 1;
    else expect(isError || roles === 1, 'the role comes first').toBe(true);
    text += (delta.content as string | undefined) ?? '';
    reasoning += (delta.reasoning_content as string | undefined) ?? '';
    for (const call of (delta.tool_calls as Json[] | undefined) ?? []) {
      const index = call.index as number;
      const called = call.function as Json;
      if (index === tools.length) {
        expect(call.type).toBe('function');
        expect(call.id).toEqual(expect.stringMatching(/.+/));
        expect(called.name).toEqual(expect.stringMatching(/.+/));
        tools.push({ id: call.id, name: called.name, arguments: '' });
      } else {
        expect(index, 'tool indices are dense').toBeLessThan(tools.length);
        expect(call, 'id and name only once').not.toHaveProperty('id');
      }
      const tool = tools[index];
      if (tool) tool.arguments += (called.arguments as string | undefined) ?? '';
    }
  }
  expect(finishes.length, 'exactly one finish').toBe(1);
  if (isError) return { isError, finish: finishes[0], text, reasoning, tools };
  expect(roles).toBe(1);
  expect(['stop', 'length', 'tool_calls', 'content_filter']).toContain(finishes[0]);
  if (finishes[0] === 'tool_calls') expect(tools.length).toBeGreaterThan(0);
  if (finishes[0] === 'stop') expect(tools).toEqual([]);
  const isCut = finishes[0] === 'length' || finishes[0] === 'content_filter';
  if (!isCut) for (const tool of tools) assertJsonObject(tool.arguments);
  expect(new Set(tools.map(({ id }) => id)).size, 'tool ids are unique').toBe(tools.length);
  return { isError, finish: finishes[0], text, reasoning, tools };
};

type WireBlock = { type: unknown; text: string; json: string; id?: unknown; name?: unknown };

const USAGE = { input_tokens: expect.any(Number), output_tokens: expect.any(Number) };
const DELTAS: Record<string, string[]> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  redacted_thinking: [],
};

const startBlock = (block: Json): WireBlock => {
  if (block.type === 'tool_use') {
    expect(block.input, 'input comes in deltas only').toEqual({});
    expect(block.id).toEqual(expect.stringMatching(/^[a-zA-Z0-9_-]+$/));
    expect(block.name).toEqual(expect.stringMatching(/.+/));
  }
  return { type: block.type, text: '', json: '', id: block.id, name: block.name };
};

/** What a well-formed messages stream adds up to; throws (by expect) on the first broken rule. */
export const assertMessagesStream = (events: WireEvent[]) => {
  for (const { event, data } of events) expect(parse(data).type, 'named twice').toBe(event);
  const told = events.map(({ data }) => parse(data)).filter(({ type }) => type !== 'ping');
  const types = told.map(({ type }) => type);
  const isError = types.includes('error');
  expect(types.filter((type) => type === 'message_start').length).toBe(
    isError && told.length === 1 ? 0 : 1,
  );
  if (isError) {
    expect(types.at(-1), 'the error is the last word').toBe('error');
    expect(types).not.toContain('message_stop');
  } else {
    expect(types.slice(-2)).toEqual(['message_delta', 'message_stop']);
  }
  const blocks: WireBlock[] = [];
  let open = -1;
  let stopReason: unknown;
  for (const [position, event] of told.entries()) {
    switch (event.type) {
      case 'message_start':
        expect(position).toBe(0);
        expect(event.message).toMatchObject({
          id: expect.stringMatching(/^msg_.+/),
          type: 'message',
          role: 'assistant',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: USAGE,
        });
        break;
      case 'content_block_start':
        expect(open, 'one block at a time').toBe(-1);
        expect(event.index, 'indices are dense').toBe(blocks.length);
        open = blocks.length;
        blocks.push(startBlock(event.content_block as Json));
        break;
      case 'content_block_delta': {
        expect(event.index, 'deltas belong to the open block').toBe(open);
        const delta = event.delta as Json;
        const block = blocks[open];
        if (!block) throw new Error('no open block');
        const allowed = DELTAS[String(block.type)];
        if (allowed) expect(allowed).toContain(delta.type);
        block.text += String(delta.text ?? delta.thinking ?? '');
        block.json += String(delta.partial_json ?? '');
        break;
      }
      case 'content_block_stop':
        expect(event.index).toBe(open);
        open = -1;
        break;
      case 'message_delta':
        expect(open, 'every block is closed').toBe(-1);
        expect(event.usage).toMatchObject(USAGE);
        stopReason = (event.delta as Json).stop_reason;
        expect(stopReason).toEqual(expect.any(String));
        break;
      case 'message_stop':
      case 'error':
        break;
      default:
        throw new Error(`unexpected event ${String(event.type)}`);
    }
  }
  const tools = blocks.filter(({ type }) => type === 'tool_use');
  if (stopReason === 'tool_use') expect(tools.length).toBeGreaterThan(0);
  if (stopReason === 'end_turn') expect(tools).toEqual([]);
  if (stopReason === 'tool_use')
    for (const { json } of tools) if (json !== '') assertJsonObject(json);
  expect(new Set(tools.map(({ id }) => id)).size, 'tool ids are unique').toBe(tools.length);
  return { isError, stopReason, blocks };
};
