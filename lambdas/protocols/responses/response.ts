import { omitUndefined } from '../../support/objects.ts';
import { asCount, asRecord, type Json } from '../bytes/json.ts';
import type {
  AnswerBlock,
  FinishReason,
  Generation,
  GenerationRequest,
  NativeBlock,
  ResponseMeta,
  ToolCallBlock,
  Usage,
} from '../generation.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import { sealThinking } from '../thinking/sealed.ts';
import { carryingId } from '../tools/carried-ids.ts';
import { callerNameOf, clientItemOf } from './tools.ts';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export type Context = { request: GenerationRequest; meta: ResponseMeta };

/** A block that becomes an item: of any protocol. */
export type ItemBlock = Exclude<AnswerBlock, NativeBlock>;

const partOf = (text: string, isRefusal: boolean | undefined): Json =>
  isRefusal
    ? { type: 'refusal', refusal: text }
    : { type: 'output_text', text, annotations: [], logprobs: [] };

export const responseId = ({ id }: ResponseMeta): string => `resp_${id}`;

const summaryPart = (text: string): Json => ({ type: 'summary_text', text });

/** How the text of an item is streamed. */
export type ItemText = {
  /** Events are named after the text. */
  name: string;
  /** The member that holds the whole text, of its last event and of an item without parts. */
  member: string;
  /** Members of every event. */
  position?: Json;
  /** Members of the events with text. */
  rest?: Json;
  /** The part that holds the text; calls have none. */
  part?: { name: string; of(text: string): Json };
};

const textPart = (isRefusal: boolean) => ({
  position: { content_index: 0 },
  part: { name: 'content_part', of: (text: string) => partOf(text, isRefusal) },
});

/** By the type of the item, or of a message that is a refusal. */
export const ITEM_TEXTS: Record<string, ItemText> = {
  message: { name: 'output_text', member: 'text', rest: { logprobs: [] }, ...textPart(false) },
  refusal: { name: 'refusal', member: 'refusal', ...textPart(true) },
  reasoning: {
    ...{ name: 'reasoning_summary_text', member: 'text', position: { summary_index: 0 } },
    part: { name: 'reasoning_summary_part', of: summaryPart },
  },
  function_call: { name: 'function_call_arguments', member: 'arguments' },
  custom_tool_call: { name: 'custom_tool_call_input', member: 'input' },
};

/** Where the text of an item is that is not whole. */
export const withText = (item: Json, text: string): Json => {
  switch (item.type) {
    case 'message':
      return { ...item, content: [partOf(text, false)] };
    case 'reasoning':
      return { ...item, summary: text === '' ? [] : [summaryPart(text)] };
    default: {
      const { member } = ITEM_TEXTS[String(item.type)] ?? {};
      return member === undefined ? item : { ...item, [member]: text };
    }
  }
};

/** The item of a call. Its `call_id` carries what the upstream requires to be sent back. */
const callItem = (
  { id, name: flatName, arguments: text, custom, extras }: ToolCallBlock,
  suffix: string,
  status: ItemStatus,
  request: GenerationRequest,
): Json => {
  const common = { call_id: carryingId(id, extras), ...callerNameOf(request, flatName) };
  if (custom) return { id: `ctc_${suffix}`, ...common, type: 'custom_tool_call', input: text };
  const own = clientItemOf(request, flatName, text);
  if (own) {
    const { prefix, members } = own;
    const ids = { id: `${prefix}_${suffix}`, call_id: common.call_id };
    // Its arguments are whole, also if a cap ended the response.
    return { ...ids, ...members, status: status === 'incomplete' ? 'completed' : status };
  }
  const whole = text || (status === 'in_progress' ? '' : '{}');
  return { id: `fc_${suffix}`, ...common, type: 'function_call', status, arguments: whole };
};

/** The item of a block at an index of the output; without its content as long as it is in progress. */
export const itemOf = (
  block: ItemBlock,
  index: number,
  status: ItemStatus,
  { request, meta }: Context,
): Json => {
  const isOpen = status === 'in_progress';
  // Unique in a conversation.
  const suffix = `${meta.id}${index}`;
  switch (block.type) {
    case 'text': {
      const content = isOpen ? [] : [partOf(block.text, block.refusal)];
      return { id: `msg_${suffix}`, type: 'message', status, role: 'assistant', content };
    }
    case 'thinking': {
      const summary = block.text === '' ? [] : [summaryPart(block.text)];
      const sealed = isOpen ? {} : { encrypted_content: sealThinking(block) };
      return { id: `rs_${suffix}`, type: 'reasoning', summary, ...sealed };
    }
    default:
      return callItem(block, suffix, status, request);
  }
};

/** Whether the block is an item of the output: not without content, or of another protocol. */
const isShown = (block: AnswerBlock): block is ItemBlock => {
  if (block.type === 'text') return block.text !== '';
  if (block.type === 'thinking') return block.text !== '' || block.signature !== undefined;
  return block.type === 'tool-call';
};

// --- response ---

/** The counts that Codex rejects a response without, and the details that a count is one of. */
const REQUIRED_COUNTS: [name: string, of?: string][] = [
  ['input_tokens'],
  ['output_tokens'],
  ['total_tokens'],
  ['cached_tokens', 'input_tokens_details'],
  ['reasoning_tokens', 'output_tokens_details'],
];

/** Whether a usage has every required count. */
export const isCounted = (usage: Json | undefined): boolean =>
  REQUIRED_COUNTS.every(
    ([name, of]) =>
      asCount((of === undefined ? usage : asRecord(usage?.[of]))?.[name]) !== undefined,
  );

/** The counts; `estimate` replaces an input count that the upstream did not send. */
export const encodeUsage = (usage: Usage | undefined, estimate: () => number): Json => {
  const { cacheReadTokens, cacheWriteTokens = 0, reasoningTokens, outputTokens = 0 } = usage ?? {};
  const inputTokens = usage?.inputTokens || estimate();
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: cacheReadTokens ?? 0,
      // Without the tokens of each lifetime: OpenAI's Agents SDK rejects details that are not numbers.
      cache_write_tokens: cacheWriteTokens,
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
    total_tokens: inputTokens + outputTokens,
  };
};

/**
 * The response object, in any status, with every member that Open Responses and the vendor's types require. Tools and
 * instructions are not repeated: an agent's are 40 KB.
 */
export const responseOf = ({ request, meta }: Context, fields: Json): Json => {
  const echo = asRecord(extraFieldsFor('responses', request.extras).echo);
  return {
    id: responseId(meta),
    object: 'response',
    access_programs: null,
    created_at: meta.created,
    completed_at: null,
    background: false,
    error: null,
    frequency_penalty: 0,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: request.maxTokens ?? null,
    max_tool_calls: null,
    metadata: echo?.metadata ?? {},
    model: meta.model,
    output: [],
    parallel_tool_calls: request.parallelToolCalls ?? true,
    presence_penalty: 0,
    previous_response_id: null,
    prompt_cache_key: echo?.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null, ...omitUndefined(asRecord(echo?.reasoning) ?? {}) },
    safety_identifier: echo?.safety_identifier ?? null,
    service_tier: 'default',
    store: false,
    temperature: request.temperature ?? 1,
    text: { format: { type: 'text' }, ...omitUndefined(asRecord(echo?.text) ?? {}) },
    tool_choice: echo?.tool_choice ?? 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: request.topP ?? 1,
    truncation: 'disabled',
    usage: null,
    ...fields,
  };
};

/** Why a response is incomplete. A filtered one with a refusal is complete: the refusal is its content. */
const incompleteReason = ({ unified }: FinishReason, hasRefusal: boolean): string | undefined => {
  if (unified === 'length') return 'max_output_tokens';
  return unified === 'content-filter' && !hasRefusal ? 'content_filter' : undefined;
};

/** Status of a response that has ended, and of its last item, and the members that explain it. */
export const endOf = (reason: FinishReason, hasRefusal: boolean) => {
  const cause = incompleteReason(reason, hasRefusal);
  return cause === undefined
    ? { status: 'completed' as const, incomplete_details: null }
    : { status: 'incomplete' as const, incomplete_details: { reason: cause } };
};

/** A response that has ended. `service_tier` is the upstream's, if it names one. */
export const endedResponse = (
  context: Context,
  { usage }: Pick<Generation, 'usage'>,
  output: Json[],
  end: ReturnType<typeof endOf>,
): Json => {
  const { meta } = context;
  return responseOf(context, {
    ...end,
    ...(end.status === 'completed' && { completed_at: meta.now() }),
    ...(usage?.serviceTier !== undefined && { service_tier: usage.serviceTier }),
    output,
    usage: encodeUsage(usage, meta.estimateInput),
  });
};

export const encodeResponse = (
  generation: Generation,
  request: GenerationRequest,
  meta: ResponseMeta,
): Json => {
  const { blocks, reason } = generation;
  const context = { request, meta };
  const shown = blocks.filter(isShown);
  const hasRefusal = shown.some((block) => block.type === 'text' && block.refusal);
  const end = endOf(reason, hasRefusal);
  // A cap ends the last item only.
  const statusAt = (index: number) => (index === shown.length - 1 ? end.status : 'completed');
  const output = shown.map((block, index) => itemOf(block, index, statusAt(index), context));
  return endedResponse(context, generation, output, end);
};
