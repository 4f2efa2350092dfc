import { asArray, asNumber, asRecord, asString, type Json } from '../bytes/json.ts';
import type { BlockHead, GenerationRequest } from '../generation.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { createEventWriter, type EventWriter } from '../streams/event-writer.ts';
import { hasCustomTool, unwrapInput } from '../tools/custom.ts';
import { createToolIds } from '../tools/ids.ts';
import { callerToolNames } from '../tools/names.ts';
import { flatName } from './tools.ts';

/** An item of the output that has begun. */
type Item = {
  key: string;
  /** What its texts are: of a reasoning item the first kind that it has, since some servers send both. */
  source?: string;
  /** Keys of its parts that have text. */
  parts: Set<string>;
  isEnded?: true;
  /** What becomes another text at its end: of a function that represents a custom tool, or the reverse. */
  held?: { text: string; rewrite(text: string): string };
};

const CALLS: Record<string, string> = { function_call: 'arguments', custom_tool_call: 'input' };

/** Kinds that hold texts, and begin with the first of them. */
const PROSE = ['message', 'reasoning'];

const wrapInput = (input: string): string => JSON.stringify({ input });

const textsIn = (parts: unknown): string =>
  asArray(parts)
    .flatMap((part) => asString(asRecord(part)?.text) ?? [])
    .join('\n\n');

const createCallReader = (request: GenerationRequest, writer: EventWriter) => {
  const uniqueId = createToolIds(request);
  const callerName = callerToolNames(request);
  const isSame = request.extras.protocol === 'responses';

  const open = (item: Item, wire: Json) => {
    const namespace = asString(wire.namespace);
    const name = callerName(flatName({ name: asString(wire.name) ?? '', namespace }));
    if (name === '') throw new UpstreamError('malformed', 'a tool call came without a name');
    const isCustom = wire.type === 'custom_tool_call';
    const isWanted = hasCustomTool(request, name) || (isCustom && isSame);
    if (isCustom !== isWanted)
      item.held = { text: '', rewrite: isCustom ? wrapInput : unwrapInput };
    writer.open(item.key, {
      ...{ type: 'tool-call', id: uniqueId(asString(wire.call_id)), name },
      ...(isWanted && { custom: true }),
    });
  };
  const append = (item: Item, text: string) => {
    if (item.held) item.held.text += text;
    else writer.delta(item.key, text);
  };
  const end = (item: Item, wire: Json) => {
    const text = asString(wire[CALLS[String(wire.type)] ?? '']) ?? '';
    if (item.parts.size === 0) append(item, text);
    if (item.held) writer.delta(item.key, item.held.rewrite(item.held.text));
    writer.close(item.key);
  };
  return { open, append, end };
};

/** Decodes the items of a response's output, streamed or whole, by their place in it. */
export const createItemReader = (request: GenerationRequest) => {
  const writer = createEventWriter({ caller: request.extras.protocol });
  const calls = createCallReader(request, writer);
  const items = new Map<number, Item>();
  /** The indices of the items with an id. */
  const places = new Map<unknown, number>();

  /**
   * Where an event belongs: by the id of its item, which llama.cpp states alone, or by its index. Ollama begins a call at that of
   * a text before it, and GitHub Copilot names an item by another id in each event.
   */
  const placeOf = ({ type, output_index: index, item_id: id, item }: Json): number => {
    const wire = asRecord(item);
    const known = places.get(wire?.id ?? id);
    if (known !== undefined) return known;
    const stated = asNumber(index) ?? (wire ? items.size : Math.max(0, items.size - 1));
    const isTaken = type === 'response.output_item.added' && items.has(stated);
    return isTaken ? Math.max(...items.keys()) + 1 : stated;
  };

  const write = (item: Item, key: string, head: BlockHead, text: string) => {
    if (text === '') return;
    if (!writer.isOpen(key)) writer.open(key, head);
    item.parts.add(key);
    writer.delta(key, text);
  };

  const add = (index: number, wire: Json): Item => {
    const known = items.get(index);
    if (known) return known;
    const item: Item = { key: String(index), parts: new Set() };
    items.set(index, item);
    if (wire.id !== undefined) places.set(wire.id, index);
    const type = asString(wire.type) ?? '';
    if (type in CALLS) calls.open(item, wire);
    // Callers of the protocol get it as it is; no other protocol has a place for it.
    else if (!PROSE.includes(type)) {
      writer.open(item.key, { type: 'native', protocol: 'responses', value: wire });
    }
    return item;
  };

  const endMessage = (item: Item, wire: Json) => {
    asArray(wire.content).forEach((one, at) => {
      const part = asRecord(one) ?? {};
      const key = `${item.key}:${at}`;
      const refusal = asString(part.refusal);
      const head: BlockHead = { type: 'text', ...(refusal !== undefined && { refusal: true }) };
      if (!item.parts.has(key)) write(item, key, head, refusal ?? asString(part.text) ?? '');
      for (const cited of asArray(part.annotations)) {
        const { url, title, start_index, end_index } = asRecord(cited) ?? {};
        writer.cite(key, { url, title, start: start_index, end: end_index });
      }
    });
    for (const key of item.parts) writer.close(key);
  };

  const endReasoning = (item: Item, wire: Json) => {
    const signature = asString(wire.encrypted_content) || undefined;
    const text = textsIn(wire.content) || textsIn(wire.summary);
    if (item.parts.size === 0) write(item, item.key, { type: 'thinking' }, text);
    if (signature && !writer.isOpen(item.key)) writer.open(item.key, { type: 'thinking' });
    writer.close(item.key, signature);
  };

  const done = (index: number, wire: Json) => {
    const item = add(index, wire);
    if (item.isEnded) return;
    item.isEnded = true;
    if (wire.type === 'message') endMessage(item, wire);
    else if (wire.type === 'reasoning') endReasoning(item, wire);
    else if (String(wire.type) in CALLS) calls.end(item, wire);
    else writer.close(item.key);
  };

  /** A text of a message or of reasoning. `source`: the kind of its events. */
  const prose = (source: string, event: Json, delta: string) => {
    const item = add(placeOf(event), { type: 'message' });
    if (source.startsWith('reasoning')) {
      item.source ??= source;
      if (item.source === source) write(item, item.key, { type: 'thinking' }, delta);
      return;
    }
    const key = `${item.key}:${asNumber(event.content_index) ?? 0}`;
    write(item, key, { type: 'text', ...(source === 'refusal' && { refusal: true }) }, delta);
  };

  /** A part of a summary is a paragraph. */
  const separate = (event: Json) => {
    const item = items.get(placeOf(event));
    if (item && writer.isOpen(item.key)) writer.delta(item.key, '\n\n');
  };

  const argument = (event: Json, delta: string) => {
    const item = add(placeOf(event), { type: 'function_call' });
    item.parts.add(item.key);
    calls.append(item, delta);
  };

  /** The items that no event has ended, of a response that has. Some servers number those of events in another way. */
  const rest = (output: unknown) => {
    asArray(output).forEach((one, index) => {
      const wire = asRecord(one) ?? {};
      done(places.get(wire.id) ?? index, wire);
    });
  };

  return { writer, placeOf, add, done, prose, separate, argument, rest };
};
