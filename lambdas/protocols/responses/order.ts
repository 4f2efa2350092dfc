import { asArray, asNumber, asRecord, asString, type Json } from '../bytes/json.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';

/** An item that has begun: how many of its parts have, and what the deltas of its text add up to. */
type Open = { index: number; id: string; type: unknown; parts: number; text: string };

const joined = (parts: unknown): string =>
  asArray(parts)
    .map((one) => {
      const { text, refusal } = asRecord(one) ?? {};
      return asString(text) ?? asString(refusal) ?? '';
    })
    .join('');

/** The text of a whole item; undefined of a kind that has none. */
const textOf = ({ type, content, summary, arguments: called, input }: Json): string | undefined => {
  switch (type) {
    case 'message':
      return joined(content);
    case 'reasoning':
      return joined(content) + joined(summary);
    case 'function_call':
      return asString(called);
    default:
      return type === 'custom_tool_call' ? asString(input) : undefined;
  }
};

const isProse = ({ type }: Open): boolean => type === 'message' || type === 'reasoning';

const DELTA =
  /_text\.delta$|^response\.(?:refusal|function_call_arguments|custom_tool_call_input)\.delta$/;

/**
 * Returns a check of the events of one stream that is relayed: official clients reject, or put together wrongly, what is not in
 * the vendor's order. @throws UpstreamError
 */
export const createOrder = () => {
  const ids = new Set<string>();
  let isBegun = false;
  let isNumbered = true;
  let count = 0;
  let open: Open | undefined;

  const require = (holds: boolean, what: string) => {
    if (!holds) throw new UpstreamError('malformed', `${what} in a stream of a response`);
  };

  const add = (index: number | undefined, { id, type }: Json) => {
    const own = asString(id) ?? '';
    require(!open && index === count && own !== '' && !ids.has(own), 'an item out of order');
    ids.add(own);
    open = { index: count++, id: own, type, parts: 0, text: '' };
  };

  const end = (index: number | undefined, item: Json) => {
    const text = textOf(item);
    const isSame = open?.index === index && open?.id === item.id && open?.type === item.type;
    // Deltas without a number are recognized by their frame, and not decoded.
    const isWhole = !isNumbered || text === undefined || text === open?.text;
    require(isSame && isWhole, 'the end of another item');
    open = undefined;
  };

  const inside = (type: string, event: Json) => {
    if (!open) return require(false, 'a part of an item that is not open');
    require(event.item_id === open.id &&
      event.output_index === open.index, 'a part of another item');
    if (type.endsWith('part.added')) open.parts += 1;
    if (!DELTA.test(type)) return undefined;
    require(typeof event.delta === 'string', 'a delta without a text');
    require(open.parts > 0 || !isProse(open), 'a delta without its part');
    open.text += String(event.delta);
    return undefined;
  };

  return (event: Json): void => {
    const type = asString(event.type) ?? '';
    const index = asNumber(event.output_index);
    const response = asRecord(event.response);
    require(isBegun !== (type === 'response.created'), 'a beginning out of place');
    isBegun = true;
    isNumbered &&= event.sequence_number !== undefined;
    if (type === 'response.output_item.added') add(index, asRecord(event.item) ?? {});
    else if (type === 'response.output_item.done') end(index, asRecord(event.item) ?? {});
    else if ('item_id' in event) inside(type, event);
    if (!/^response\.(?:completed|incomplete)$/.test(type)) return;
    require(!open && asArray(response?.output).length === count, 'an end with other items');
  };
};
