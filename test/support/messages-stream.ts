import { expect } from 'vitest';
import { MessagesEvent } from './messages-schema.ts';
import { type Json, parseJson, type WireEvent } from './sse-text.ts';

type WireBlock = {
  type: unknown;
  text: string;
  json: string;
  signature: string;
  id: unknown;
  name: unknown;
};

/** What a messages stream adds up to. */
type MessagesAnswer = { isError: boolean; stopReason: unknown; blocks: WireBlock[]; usage: Json };

const USAGE = { input_tokens: expect.any(Number), output_tokens: expect.any(Number) };
const OPENED = {
  id: expect.stringMatching(/^msg_.+/),
  type: 'message',
  role: 'assistant',
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: USAGE,
};
const DELTAS: Record<string, string[]> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  redacted_thinking: [],
};

const KNOWN_DELTAS = new Set(Object.values(DELTAS).flat());
/** The events that a stream must have in their order; others pass as they came. */
const KNOWN = /^(?:(?:message|content_block)_(?:start|delta|stop)|error)$/;

const startBlock = (block: Json): WireBlock => {
  if (block.type === 'tool_use') {
    expect(block).toMatchObject({
      id: expect.stringMatching(/^[a-zA-Z0-9_-]+$/),
      name: expect.stringMatching(/.+/),
    });
    expect(block.input, 'input comes in deltas only').toEqual({});
  }
  const { type, id, name } = block;
  return { type, id, name, text: '', json: '', signature: '' };
};

const addDelta = (block: WireBlock, delta: Json) => {
  const allowed = DELTAS[String(block.type)];
  // Kinds to come pass in any block.
  const isKnown = KNOWN_DELTAS.has(String(delta.type));
  if (allowed && isKnown) expect(allowed).toContain(delta.type);
  block.text += String(delta.text ?? delta.thinking ?? '');
  block.json += String(delta.partial_json ?? '');
  block.signature += String(delta.signature ?? '');
};

/** Reads the blocks, one open at a time, their indices dense. */
const readBlocks = (events: Json[]): WireBlock[] => {
  const blocks: WireBlock[] = [];
  let open: WireBlock | undefined;
  const index = () => (open ? blocks.indexOf(open) : -1);
  for (const event of events) {
    if (event.type === 'content_block_start') {
      expect(open, 'one block at a time').toBeUndefined();
      expect(event.index, 'indices are dense').toBe(blocks.length);
      open = startBlock(event.content_block as Json);
      blocks.push(open);
      continue;
    }
    expect(event.index, 'a delta and a stop belong to the open block').toBe(index());
    if (event.type === 'content_block_stop') open = undefined;
    else if (open) addDelta(open, event.delta as Json);
  }
  return blocks;
};

const assertOrder = (types: unknown[]) => {
  const blocks = types.filter((type) => String(type).startsWith('content_block_'));
  const last = types.at(-1);
  if (last === 'error') {
    // Before its first event an answer may fail without having begun.
    const begun = types.length > 1 ? ['message_start'] : [];
    expect(types).toEqual([...begun, ...blocks, 'error']);
    return;
  }
  expect(types).toEqual(['message_start', ...blocks, 'message_delta', 'message_stop']);
  const count = (type: string) => blocks.filter((name) => name === type).length;
  expect(count('content_block_stop'), 'every block is closed').toBe(count('content_block_start'));
};

const assertStop = (stopReason: unknown, blocks: WireBlock[]) => {
  const tools = blocks.filter(({ type }) => type === 'tool_use');
  expect(stopReason).toEqual(expect.any(String));
  if (stopReason === 'tool_use') {
    expect(tools.length).toBeGreaterThan(0);
    for (const { json } of tools) expect(JSON.parse(json || '{}')).toBeTypeOf('object');
  }
  if (stopReason === 'end_turn') expect(tools).toEqual([]);
  expect(new Set(tools.map(({ id }) => id)).size, 'tool ids are unique').toBe(tools.length);
};

/** Holds a messages stream against the family's rules, by `expect`, and adds it up. */
export const assertMessagesStream = (events: WireEvent[]): MessagesAnswer => {
  for (const { event, data } of events) {
    const told = parseJson(data);
    expect(told.type, 'named twice').toBe(event);
    expect(MessagesEvent.safeParse(told).error, data).toBeUndefined();
  }
  const told = events
    .map(({ data }) => parseJson(data))
    .filter(({ type }) => KNOWN.test(String(type)));
  assertOrder(told.map(({ type }) => type));
  const of = (type: string) => told.find((event) => event.type === type);
  const start = of('message_start');
  if (start) expect(start.message).toMatchObject(OPENED);
  const blocks = readBlocks(told.filter(({ type }) => String(type).startsWith('content_block_')));
  const isError = of('error') !== undefined;
  const end = of('message_delta');
  const stopReason = (end?.delta as Json | undefined)?.stop_reason;
  if (!isError) {
    expect(end?.usage).toMatchObject(USAGE);
    assertStop(stopReason, blocks);
  }
  return { isError, stopReason, blocks, usage: (end?.usage as Json | undefined) ?? {} };
};
