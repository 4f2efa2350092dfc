import { expect } from 'vitest';
import type * as z from 'zod';
import { type OutputItem, ResponsesEvent } from './responses-schema.ts';
import { parseJson, type WireEvent } from './sse-text.ts';

type Item = z.infer<typeof OutputItem>;

/** A block as the other protocols' checkers have it, so that the laws compare all of them alike. */
type Block = { type: string; text: string; name: string; json: string };

/** What a responses stream adds up to. */
type Answer = { isError: boolean; response: unknown; blocks: Block[] };

const clientBlock = (name: string, called: object): Block => ({
  ...{ type: 'tool_use', text: '', name },
  json: JSON.stringify(called),
});

const blockOf = (item: Item): Block => {
  const block = { text: '', name: '', json: '' };
  switch (item.type) {
    case 'message': {
      const texts = item.content.map((part) => ('text' in part ? part.text : part.refusal));
      return { ...block, type: 'text', text: texts.join('') };
    }
    case 'reasoning': {
      const { content = [] } = item as { content?: { text: string }[] };
      const texts = [...content, ...item.summary].map(({ text }) => text);
      return { ...block, type: 'thinking', text: texts.join('') };
    }
    case 'function_call':
      return { ...block, type: 'tool_use', name: item.name, json: item.arguments };
    case 'apply_patch_call':
      return clientBlock('apply_patch', item.operation);
    case 'shell_call':
    case 'local_shell_call':
      return clientBlock(item.type.replace('_call', ''), item.action);
    default:
      return { ...block, type: 'tool_use', name: item.name, json: JSON.stringify(item.input) };
  }
};

/** The text of an item that its deltas add up to. */
const textOf = (item: Item): string => {
  if (item.type === 'function_call') return item.arguments;
  return item.type === 'custom_tool_call' ? item.input : blockOf(item).text;
};

/** `part`: the text of the part that is open. */
type Open = { item: Item; deltas: string; part: string; parts: number; ended: number };

/** The rules of the events between an item's start and its end. */
const readInside = (open: Open | undefined, event: ResponsesEvent) => {
  if (!('item_id' in event)) return;
  expect(open?.item.id, 'an event names the open item').toBe(event.item_id);
  if (!open) return;
  if (event.type.endsWith('part.added')) {
    open.parts += 1;
    open.ended = 0;
    open.part = '';
  }
  if ('delta' in event) {
    expect(open.ended, 'no delta follows the whole').toBe(0);
    open.deltas += event.delta;
    open.part += event.delta;
    const needsPart = open.item.type === 'message' || open.item.type === 'reasoning';
    expect(open.parts > 0, 'a part is added before its first delta').toBe(needsPart);
  }
  const whole = Object.entries(event).find(([name]) =>
    ['text', 'refusal', 'arguments', 'input'].includes(name),
  );
  if (!event.type.endsWith('.done') || 'part' in event || !whole) return;
  expect(whole[1], 'the deltas add up to the whole').toBe(open.part);
  open.ended += 1;
};

const readItems = (events: ResponsesEvent[]): { items: Item[]; isOpen: boolean } => {
  const items: Item[] = [];
  let open: Open | undefined;
  for (const event of events) {
    if (event.type === 'response.output_item.added') {
      expect(open, 'one item is open at a time').toBeUndefined();
      expect(event.output_index, 'output indices are dense').toBe(items.length);
      open = { item: event.item, deltas: '', part: '', parts: 0, ended: 0 };
    } else if (event.type === 'response.output_item.done') {
      expect(event).toMatchObject({ output_index: items.length, item: { id: open?.item.id } });
      expect(textOf(event.item)).toBe(open?.deltas);
      items.push(event.item);
      open = undefined;
    } else readInside(open, event);
  }
  return { items, isOpen: open !== undefined };
};

const LIFECYCLE = ['response.created', 'response.in_progress'];
const ENDS = ['response.completed', 'response.incomplete', 'response.failed'];

const assertUnique = (values: string[], what: string) =>
  expect(new Set(values).size, `${what} are unique`).toBe(values.length);

/** Checks a responses stream against the vendor's order, by `expect`, and adds it up. */
export const assertResponsesStream = (wire: WireEvent[], isRelayed = false): Answer => {
  const events = wire.map(({ event, data }) => {
    const json = parseJson(data);
    expect(event, 'the name is sent twice').toBe(json.type);
    const parsed = ResponsesEvent.safeParse(json);
    // What a vendor adds is relayed, and a server's own event by any.
    const isKnown = /^(?:response\.|error$)/.test(String(json.type));
    if (!isRelayed && isKnown) expect(parsed.error, data).toBeUndefined();
    return json as ResponsesEvent;
  });
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(LIFECYCLE);
  const isError = events.at(-1)?.type === 'response.failed';
  const errors = events.flatMap(({ type }, index) => (type === 'error' ? [index] : []));
  expect(errors, 'an error comes right before the failed response').toEqual(
    isError ? [events.length - 2] : [],
  );
  const ends = events.filter(({ type }) => ENDS.includes(type));
  expect(ends, 'one event ends the response, the last one').toEqual([events.at(-1)]);
  const responses = events.flatMap((event) => ('response' in event ? [event.response] : []));
  expect(new Set(responses.map(({ id }) => id)).size, 'one response id').toBe(1);
  const { items, isOpen } = readItems(events);
  const last = responses.at(-1);
  // An end that a server left out lacks what only the response says, such as the seal of reasoning.
  const shown = (list: Item[] = []) =>
    isRelayed ? list.map((one) => [one.id, textOf(one)]) : list;
  expect(shown(last?.output as Item[])).toEqual(shown(items));
  assertUnique(
    items.map(({ id }) => id),
    'item ids',
  );
  assertUnique(
    items.flatMap((item) => ('call_id' in item ? [item.call_id] : [])),
    'call ids',
  );
  if (!isError) {
    expect(isOpen, 'every item is done').toBe(false);
    expect(`response.${last?.status}`).toBe(ends[0]?.type);
    if (last?.status === 'completed') {
      for (const item of items) {
        if (item.type === 'function_call') expect(JSON.parse(item.arguments)).toBeTypeOf('object');
      }
    }
  }
  return { isError, response: last, blocks: items.map(blockOf) };
};
