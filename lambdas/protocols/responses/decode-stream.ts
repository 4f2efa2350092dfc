import { isEmpty, omitUndefined } from '../../support/objects.ts';
import { asArray, asCount, asNumber, asRecord, asString, type Json } from '../bytes/json.ts';
import type {
  Billing,
  FinishReason,
  GenerationEvent,
  GenerationRequest,
  Usage,
} from '../generation.ts';
import type { Profile } from '../profile.ts';
import { assertNoError, type StreamDecoder } from '../protocol.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { statedNanosIn } from '../stated-cost.ts';
import { withBody } from '../streams/event-writer.ts';
import { createStreamDecoder, ownCaller, received, type StreamReader } from '../streams/relay.ts';
import { createItemReader } from './decode-items.ts';
import { createOrder } from './order.ts';

/** Tools that the vendor runs and bills by use, by the items of their uses. */
const USES: Record<string, string> = {
  web_search_call: 'web_search',
  file_search_call: 'file_search',
  code_interpreter_call: 'code_interpreter',
  image_generation_call: 'image_generation',
};

/**
 * Looking at what a search found is free, and so is a container that runs code again. The vendor's own count of searches is
 * what it bills.
 */
const createUses = () => {
  const uses: Record<string, number> = {};
  const containers = new Set<unknown>();
  const add = (item: unknown): void => {
    const { type, action, container_id } = asRecord(item) ?? {};
    const use = USES[String(type)];
    const isFree =
      (asRecord(action)?.type ?? 'search') !== 'search' || containers.has(container_id);
    if (use === undefined || isFree) return;
    if (container_id !== undefined) containers.add(container_id);
    uses[use] = (uses[use] ?? 0) + 1;
  };
  return { uses, add };
};

const usesIn = ({ output, tool_usage }: Json): Record<string, number> => {
  const { uses, add } = createUses();
  asArray(output).forEach(add);
  const searches = asCount(asRecord(asRecord(tool_usage)?.web_search)?.num_requests);
  return omitUndefined({ ...uses, web_search: (searches ?? uses.web_search) || undefined });
};

/** The counts of a response that has ended; undefined if it has none. */
export const usageIn = (response: Json): Usage | undefined => {
  const wire = asRecord(response.usage);
  const inputTokens = asCount(wire?.input_tokens);
  const outputTokens = asCount(wire?.output_tokens);
  if (!wire || (inputTokens === undefined && outputTokens === undefined)) return undefined;
  const input = asRecord(wire.input_tokens_details);
  const uses = usesIn(response);
  const billing: Billing = omitUndefined({
    uses: isEmpty(uses) ? undefined : uses,
    statedNanos: statedNanosIn(wire),
  });
  return omitUndefined({
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    cacheReadTokens: asCount(input?.cached_tokens),
    cacheWriteTokens: asCount(input?.cache_write_tokens),
    cacheWriteLongTokens: asCount(asRecord(input?.cache_write_tokens_details)?.ttl_12h_tokens),
    reasoningTokens: asCount(asRecord(wire.output_tokens_details)?.reasoning_tokens),
    serviceTier: asString(response.service_tier),
    billing: isEmpty(billing) ? undefined : billing,
  });
};

const INCOMPLETE: Record<string, FinishReason['unified']> = {
  max_output_tokens: 'length',
  content_filter: 'content-filter',
};

/** Why a response ended. @throws UpstreamError if it failed, or has not ended */
const decodeFinishReason = ({ status, error, incomplete_details }: Json): FinishReason => {
  if (status === 'completed') return { unified: 'stop' };
  const reason = asString(asRecord(incomplete_details)?.reason) ?? '';
  if (status === 'incomplete') return { unified: INCOMPLETE[reason] ?? 'length' };
  if (status === 'failed' || asRecord(error)) {
    throw new UpstreamError('error-event', 'the response failed', { sent: { error } });
  }
  throw new UpstreamError('truncated', 'the response has not ended');
};

const DELTA = /^response\.(output_text|refusal|reasoning_summary_text|reasoning_text)\.delta$/;
const ARGUMENT = /^response\.(?:function_call_arguments|custom_tool_call_input)\.delta$/;
const END = /^response\.(completed|incomplete|failed|cancelled)$/;

const createEventReader = (request: GenerationRequest) => {
  const items = createItemReader(request);
  const { writer } = items;

  const known: Partial<Usage> = {};
  const { uses, add } = createUses();

  const finish = (response: Json) => {
    const usage = usageIn(response);
    Object.assign(known, usage);
    const reason = decodeFinishReason(response);
    items.rest(response.output);
    writer.finish(reason, usage);
  };
  const start = ({ service_tier: tier }: Json) => {
    Object.assign(known, omitUndefined({ serviceTier: asString(tier) }));
    writer.start();
  };
  const end = (index: number, item: Json) => {
    items.done(index, item);
    add(item);
    if (!isEmpty(uses)) known.billing = { uses };
  };

  const readText = (type: string, event: Json) => {
    const [, source] = DELTA.exec(type) ?? [];
    const delta = asString(event.delta) ?? '';
    if (source !== undefined) items.prose(source, event, delta);
    else if (ARGUMENT.test(type)) items.argument(event, delta);
  };

  const read = (event: Json) => {
    const type = asString(event.type) ?? '';
    const item = asRecord(event.item) ?? {};
    const [, ending] = END.exec(type) ?? [];
    if (ending !== undefined) {
      const failed = ending !== 'completed' && ending !== 'incomplete' && { status: ending };
      const response = asRecord(event.response) ?? {};
      // Some gateways leave out the status, or have the error next to the response.
      const error = response.error ?? event.error;
      return finish({ status: ending, ...response, error, ...failed });
    }
    switch (type) {
      case 'response.created':
        return start(asRecord(event.response) ?? {});
      case 'response.output_item.added':
        items.add(items.placeOf(event), item);
        return undefined;
      case 'response.output_item.done':
        return end(items.placeOf(event), item);
      case 'response.reasoning_summary_part.added':
        return asNumber(event.summary_index) ? items.separate(event) : undefined;
      default:
        return readText(type, event);
    }
  };
  return { writer, read, known };
};

/**
 * Whether the items of a stream have places, as those of the vendor's; undefined before the first of them, unless its events
 * have numbers.
 */
const hasPlaces = (event: Json): boolean | undefined => {
  if (['sequence_number', 'output_index'].some((name) => name in event)) return true;
  if ('item' in event || 'item_id' in event) return false;
  return END.test(asString(event.type) ?? '') || undefined;
};

/**
 * Gives the events of a message the message, after those that its server left out. A stream without places is encoded: its items
 * may all be open at once.
 */
const createRelay = () => {
  const order = createOrder();
  let isOwn: boolean | undefined;
  let held: [events: GenerationEvent[], data: string, event: Json][] = [];

  const relay = (...[events, data, event]: (typeof held)[number]): GenerationEvent[] => {
    const ordered = order(event);
    const last = ordered.at(-1);
    if (ordered.length === 1 && last === event) return received(events, data, event);
    return ordered.flatMap((one) => {
      const own = one === last ? events : [];
      return received(own, one === event ? data : JSON.stringify(one), one);
    });
  };

  return (events: GenerationEvent[], data: string, event: Json = {}): GenerationEvent[] => {
    isOwn ??= hasPlaces(event);
    held.push([events, data, event]);
    if (isOwn === undefined) return [];
    const all = held;
    held = [];
    return all.flatMap((one) => (isOwn ? relay(...one) : one[0]));
  };
};

/** The end of a response repeats all of it; some servers leave out its items there, which ended one by one. */
const createSum = () => {
  let last: Json = {};
  const ended: Json[] = [];
  return {
    add: ({ type, response, item }: Json) => {
      last = asRecord(response) ?? last;
      const whole = type === 'response.output_item.done' && asRecord(item);
      if (whole) ended.push(whole);
    },
    value: () => {
      const isListed = asArray(last.output).length > 0;
      return isListed ? last : { ...last, output: ended };
    },
  };
};

/** A caller of the protocol, unless the target knows the tools by the names of other protocols. */
const callerOf = (request: GenerationRequest, { items }: Profile) =>
  items === 'common' ? undefined : ownCaller(request, 'responses');

/** @throws UpstreamError on `push` or `end` if the upstream fails, breaks its protocol or ends early. */
export const streamDecoder = (request: GenerationRequest, of: Profile = {}): StreamDecoder => {
  const reader: StreamReader = {
    ...createEventReader(request),
    // A response states why it ended where it ends.
    hasReason: () => false,
    finish: (sent) => {
      throw new UpstreamError('truncated', 'no end of the response', { sent });
    },
  };
  return createStreamDecoder(reader, callerOf(request, of), {
    relay: createRelay(),
    createSum,
  });
};

/** @throws UpstreamError when the body is not a response, or one that has not ended well. */
export const decodeResponse = (
  body: unknown,
  request: GenerationRequest,
  text?: string,
  of: Profile = {},
) => {
  const wire = asRecord(body);
  if (wire?.object !== 'response') {
    if (wire) assertNoError(wire);
    throw new UpstreamError('malformed', 'not a response', { sent: wire });
  }
  const { writer, read } = createEventReader(request);
  writer.start();
  read({ type: 'response.completed', response: wire });
  const events = writer.drain();
  return callerOf(request, of) === 'whole'
    ? withBody(events, { value: wire, ...(text !== undefined && { text }) })
    : events;
};
