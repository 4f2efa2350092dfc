import { asArray, asRecord, asString, type Json, readJsonObject } from '../protocols/bytes/json.ts';
import { type Edit, set, spliceText } from '../protocols/bytes/splice.ts';
import type { SseMessage } from '../protocols/streams/sse.ts';
import * as s from '../support/schema.ts';
import { outputId } from './items.ts';

/** What a request asks of the state. */
export const Asked = s.object({
  previous_response_id: s.optional(s.string),
  background: s.optional(s.boolean),
  store: s.optional(s.boolean),
});
/** Members of a response that only the state knows. */
export type Marks = { store: boolean; previous_response_id: string | null; background: boolean };

/** What makes a response one that is stored: its marks, and ids of items from which its own id follows. */
const editsOf = (response: Json, marks: Partial<Marks>, path: Edit['path']): Edit[] => [
  ...Object.entries(marks).flatMap(([name, value]) =>
    response[name] === value ? [] : [set([...path, name], value)],
  ),
  ...asArray(response.output).flatMap((one, index) => {
    const item = asRecord(one) ?? {};
    const id = outputId(item, asString(response.id) ?? '', index);
    return item.id === id ? [] : [set([...path, 'output', index, 'id'], id)];
  }),
];

export const markWhole = (json: string, marks: Partial<Marks>): string =>
  spliceText(json, editsOf(readJsonObject(json) ?? {}, marks, []));

/** Events of an item, which is in them. */
const ITEM = /^response\.output_item\./;

export const createMark = (marks: Marks) => {
  let id = '';
  /** Upstreams' ids of items, by what they are here. */
  const renamed = new Map<string, string>();

  const ofResponse = (data: string, event: Json, response: Json, own: Partial<Marks>): string => {
    id = asString(response.id) ?? id;
    return spliceText(
      data,
      event.response === response ? editsOf(response, own, ['response']) : [],
    );
  };
  const ofItem = (data: string, event: Json): string => {
    const item = asRecord(event.item) ?? {};
    const sent = asString(item.id) ?? '';
    const own = outputId(item, id, Number(event.output_index));
    if (own === sent) return data;
    renamed.set(sent, own);
    return spliceText(data, [set(['item', 'id'], own)]);
  };
  const ofPart = (data: string): string => {
    for (const [sent, own] of renamed) {
      // In a text its quotation marks would be escaped.
      const edited = data.replace(`"item_id":"${sent}"`, () => `"item_id":"${own}"`);
      if (edited !== data) return edited;
    }
    const { item_id } = readJsonObject(data) ?? {};
    const own = renamed.get(asString(item_id) ?? '');
    return own === undefined ? data : spliceText(data, [set(['item_id'], own)]);
  };

  return (message: SseMessage, own: Partial<Marks> = marks): SseMessage => {
    if (!('data' in message)) return message;
    const { data, event: name = '' } = message;
    if (data.includes('"response":')) {
      const event = readJsonObject(data) ?? {};
      const response = asRecord(event.response);
      if (response) return { ...message, data: ofResponse(data, event, response, own) };
    }
    if (ITEM.test(name)) return { ...message, data: ofItem(data, readJsonObject(data) ?? {}) };
    return renamed.size === 0 ? message : { ...message, data: ofPart(data) };
  };
};

/** The response in an event that has one. */
export const responseIn = (message: SseMessage): Json | undefined =>
  'data' in message ? asRecord(readJsonObject(message.data)?.response) : undefined;
