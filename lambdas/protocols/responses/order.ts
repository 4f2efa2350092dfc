import { omitUndefined } from '../../support/objects.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { ITEM_TEXTS, type ItemText, withText } from './response.ts';

/** An item that has begun, with its server's index of it: how many of its parts have, and what the deltas of its text add up to. */
type Open = { item: Json; index: unknown; parts: number; text: string };

const joined = (parts: unknown): string =>
  asArray(parts)
    .map((one) => {
      const { text, refusal } = asRecord(one) ?? {};
      return asString(text) ?? asString(refusal) ?? '';
    })
    .join('');

/** What a text of an item is: only a message refuses. */
const kindOf = (type: unknown, isRefusal: boolean): string =>
  type === 'message' && isRefusal ? 'refusal' : String(type);

/** The text of a whole item; undefined of a kind that has none. */
const textOf = (item: Json): string | undefined => {
  const { part, member } = ITEM_TEXTS[String(item.type)] ?? {};
  if (part) return joined(item.content) + (item.type === 'message' ? '' : joined(item.summary));
  return member === undefined ? undefined : asString(item[member]);
};

const DELTA =
  /_text\.delta$|^response\.(?:refusal|function_call_arguments|custom_tool_call_input)\.delta$/;

/** An item of prose by the type of one of its events; a call that was not announced lacks its name. */
const unannounced = (type: string, { item_id: id }: Json): Json | undefined => {
  const status = 'in_progress';
  if (/^response\.reasoning/.test(type)) return { id, type: 'reasoning', summary: [] };
  return /^response\.(?:output_text|refusal|content_part)/.test(type)
    ? { id, type: 'message', status, role: 'assistant', content: [] }
    : undefined;
};

/** The text that the end of a text states again. */
const wholeIn = ({ text, refusal, arguments: called, input }: Json): string =>
  asString(text) ?? asString(refusal) ?? asString(called) ?? asString(input) ?? '';

/** An item before its text, which vLLM states with the item and again in deltas. */
const begunAs = (item: Json): Json => {
  const { type, status } = item;
  const going = status === undefined ? {} : { status: 'in_progress' };
  if (type === 'message') return { ...item, ...going, content: [] };
  if (type === 'reasoning') return { ...item, ...going, summary: [] };
  const { member } = ITEM_TEXTS[String(type)] ?? {};
  return { ...item, ...going, ...(member !== undefined && { [member]: '' }) };
};

/**
 * What an item lacks and clients read without looking for it: the role of a message, the list of its parts, or the text of a call,
 * which was `said`.
 */
export const missingParts = (item: Json, said = ''): Json | undefined => {
  const list = { message: 'content', reasoning: 'summary' }[String(item.type)];
  if (list !== undefined) {
    const parts = Array.isArray(item[list]) ? undefined : { [list]: [] };
    const lacksRole = item.type === 'message' && item.role === undefined;
    return lacksRole ? { role: 'assistant', ...parts } : parts;
  }
  const { member } = ITEM_TEXTS[String(item.type)] ?? {};
  return member === undefined || typeof item[member] === 'string' ? undefined : { [member]: said };
};

const withParts = (item: Json, said?: string): Json => {
  const parts = missingParts(item, said);
  return parts ? { ...item, ...parts } : item;
};

/** `said`: the text of the open item, if the event ends it. */
const withItemParts = (event: Json, said: string | undefined): Json => {
  const sent = asRecord(event.item);
  const isEnd = event.type === 'response.output_item.done';
  const item = sent && withParts(sent, isEnd ? said : undefined);
  return item === sent ? event : { ...event, item };
};

const ADDED = 'response.output_item.added';

const itemIdOf = ({ item, item_id: id }: Json): unknown => asRecord(item)?.id ?? id;

/** Whether an event is about the open item, by its id, or by its index if it names no other item by its id. */
const isOf = ({ item, index }: Open, event: Json, ids: Set<unknown>): boolean => {
  const id = itemIdOf(event);
  return id === item.id || (event.output_index === index && !ids.has(id));
};

/** An event with `own`, the id of its item's first event: GitHub Copilot sends another one with each event of an item. */
const withOwnId = (event: Json, own: unknown): Json => {
  const { item_id: id } = event;
  const item = asRecord(event.item);
  if (item) return item.id === own ? event : { ...event, item: { ...item, id: own } };
  return id === undefined || id === own ? event : { ...event, item_id: own };
};

/** The beginning of an item, before its text. */
const withoutText = (event: Json): Json => {
  const item = asRecord(event.item);
  return item && textOf(item) ? { ...event, item: begunAs(item) } : event;
};

/** Ollama begins a call at the index of a text before it. */
const withPlace = (event: Json, place: number): Json =>
  event.output_index === place ? event : { ...event, output_index: place };

/** The items that the end of a response states, as those that ended; `said`: the text of the one that is open. */
const statedItems = (sent: Json, ended: Json[], said: string | undefined): Json[] => {
  const stated = asArray(sent.output).map((one) => asRecord(one) ?? {});
  // Ollama's end has the texts behind the calls.
  if (stated.some(({ type }, index) => type !== (ended[index]?.type ?? type))) return ended;
  return stated.map((item, index) => {
    const { [index]: own = item } = ended;
    const text = index === ended.length ? said : textOf(own);
    const { id, call_id } = own;
    const isSame = id === item.id && call_id === item.call_id;
    return withParts(isSame ? item : { ...item, ...omitUndefined({ id, call_id }) }, text);
  });
};

/**
 * Returns a check of the events of one stream that is relayed: official clients reject, or put together wrongly, what is not in
 * the vendor's order. It gives the events that other servers leave out, which belong before the event.
 * @throws UpstreamError for what cannot be put right
 */
export const createOrder = () => {
  const ids = new Set<unknown>();
  const output: Json[] = [];
  let response: Json | undefined;
  let isGoing = false;
  let isNumbered = true;
  let open: Open | undefined;
  let missing: Json[] = [];

  const require = (holds: boolean, what: string) => {
    if (!holds) throw new UpstreamError('malformed', `${what} in a stream of a response`);
  };
  const insert = (name: string, fields: Json) =>
    missing.push({ type: `response.${name}`, ...fields });

  const begin = (type: string, sent: Json | undefined) => {
    const isFirst = type === 'response.created';
    require(!(response && isFirst), 'a beginning out of place');
    if (!response) {
      response = { object: 'response', ...sent, status: 'in_progress', output: [] };
      if (!isFirst) insert('created', { response });
    }
    if (isFirst || isGoing) return;
    isGoing = true;
    if (type !== 'response.in_progress') insert('in_progress', { response });
  };

  const close = (item: Json) => {
    output.push(item);
    open = undefined;
  };

  const add = (index: unknown, item: Json): Open => {
    if (open) {
      require(isNumbered, 'an item without an end');
      const ended = 'status' in open.item && { status: 'completed' };
      const whole = { ...withText(open.item, open.text), ...ended };
      insert('output_item.done', { output_index: output.length, item: whole });
      close(whole);
    }
    const id = asString(item.id) ?? '';
    require(id !== '' && !ids.has(id), 'an item out of order');
    ids.add(id);
    open = { item, index, parts: 0, text: '' };
    return open;
  };

  const announce = (item: Json): Open => {
    const added = add(output.length, item);
    insert('output_item.added', { output_index: output.length, item });
    return added;
  };

  /** Begins the part of a text, if it has not begun. */
  const beginPart = (of: Open, { part, position }: Partial<ItemText> = {}) => {
    if (of.parts > 0 || part === undefined) return;
    of.parts += 1;
    const at = { item_id: of.item.id, output_index: output.length, ...position };
    insert(`${part.name}.added`, { ...at, part: part.of('') });
  };

  /** The text of an item that came whole. */
  const say = (of: Open, { type, content }: Json, delta: string) => {
    const isRefusal = asRecord(asArray(content)[0])?.type === 'refusal';
    const text = ITEM_TEXTS[kindOf(type, isRefusal)];
    if (!text) return;
    beginPart(of, text);
    const at = { item_id: of.item.id, output_index: output.length, ...text.position };
    insert(`${text.name}.delta`, { ...at, delta, ...text.rest });
    of.text = delta;
  };

  const end = (item: Json) => {
    const of = open ?? announce(begunAs(item));
    const text = textOf(item);
    const { id, type } = of.item;
    if (text && of.text === '' && isNumbered) say(of, item, text);
    // Deltas without a number are recognized by their frame, and not decoded.
    const isWhole = !isNumbered || text === undefined || text === of.text;
    const isSame = id === item.id && type === item.type;
    require(isSame && isWhole, 'the end of another item');
    close(item);
  };

  const append = (of: Open, type: string, { delta }: Json) => {
    if (typeof delta !== 'string') return require(false, 'a delta without a text');
    beginPart(of, ITEM_TEXTS[kindOf(of.item.type, type === 'response.refusal.delta')]);
    of.text += delta;
    return undefined;
  };

  const inside = (type: string, event: Json) => {
    const item = open ? undefined : unannounced(type, event);
    const of = open ?? (item && announce(item));
    if (!of) return require(false, 'a part of an item that is not open');
    require(event.item_id === of.item.id, 'a part of another item');
    if (DELTA.test(type)) return append(of, type, event);
    if (type.endsWith('part.added')) of.parts += 1;
    const whole = type.endsWith('.done') && wholeIn(event);
    if (whole && of.text === '' && isNumbered) say(of, of.item, whole);
    return undefined;
  };

  /** Ends what is open, and says what only the end says. */
  const finish = (event: Json, sent: Json): Json => {
    const items = statedItems(sent, output, open?.text);
    items.slice(output.length).forEach((item) => {
      const index = output.length;
      end(item);
      insert('output_item.done', { output_index: index, item });
    });
    if (open) add(output.length + 1, { id: 'none' });
    const status = asString(event.type)?.slice('response.'.length);
    const isSame = Array.isArray(sent.output) && items.length === output.length;
    const isWhole = isSame && items.every((item, index) => item === asArray(sent.output)[index]);
    return isWhole && sent.status === status
      ? event
      : { ...event, response: { ...sent, status, output: isSame ? items : output } };
  };

  const named = (type: string, event: Json): Json => {
    if (type === ADDED) return isNumbered ? withoutText(event) : event;
    return open && isOf(open, event, ids) ? withOwnId(event, open.item.id) : event;
  };

  /** The event as clients read it, which begins an item, ends the open one, or is inside of it. */
  const take = (type: string, received: Json): Json => {
    const event = withItemParts(named(type, received), open?.text);
    const item = asRecord(event.item) ?? {};
    if (type === ADDED) add(event.output_index, item);
    const place = output.length;
    if (type === 'response.output_item.done') end(item);
    else if ('item_id' in event) inside(type, event);
    if (itemIdOf(event) !== undefined) return withPlace(event, place);
    const isEnd = /^response\.(?:completed|incomplete)$/.test(type);
    return isEnd ? finish(event, asRecord(event.response) ?? {}) : event;
  };

  /** The events that belong before this one, and this one. */
  return (event: Json): Json[] => {
    missing = [];
    const type = asString(event.type) ?? '';
    // Clients reject what comes before the beginning, such as a server's own event.
    if (!isGoing && !type.startsWith('response.')) return [];
    begin(type, asRecord(event.response));
    isNumbered &&= event.sequence_number !== undefined;
    const id = itemIdOf(event);
    // Of an item that was ended when another one began.
    if (type !== ADDED && ids.has(id) && id !== open?.item.id) {
      require(!DELTA.test(type), 'a text of an item that has ended');
      return missing;
    }
    const last = take(type, event);
    return [...missing, last];
  };
};
