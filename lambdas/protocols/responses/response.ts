import { carryingId } from '../carried-ids.ts';
import { extraFieldsFor } from '../extras.ts';
import type {
  AnswerBlock,
  BlockHead,
  FinishReason,
  Generation,
  GenerationRequest,
  ResponseMeta,
  ToolCallBlock,
  Usage,
} from '../generation.ts';
import { asRecord, type Json } from '../json.ts';
import { NAME } from './name.ts';
import { sealThinking } from './sealed-thinking.ts';
import { callerNameOf, unwrapInput } from './tools.ts';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

// --- items ---

const textPart = (text: string): Json => ({
  type: 'output_text',
  text,
  annotations: [],
  logprobs: [],
});
const refusalPart = (refusal: string): Json => ({ type: 'refusal', refusal });

export const partOf = (text: string, isRefusal: boolean | undefined): Json =>
  isRefusal ? refusalPart(text) : textPart(text);

export const messageItem = (id: string, content: Json[], status: ItemStatus): Json => ({
  id,
  type: 'message',
  status,
  role: 'assistant',
  content,
});

export const summaryPart = (text: string): Json => ({ type: 'summary_text', text });

export const reasoningItem = (id: string, text: string, sealed: string | null): Json => ({
  id,
  type: 'reasoning',
  summary: text === '' ? [] : [summaryPart(text)],
  encrypted_content: sealed,
});

type Called = Pick<ToolCallBlock, 'id' | 'name' | 'extras'>;

/** The item of a call. Its id carries what the upstream requires to be sent back. */
export const callItem = (
  id: string,
  { id: callId, name: flatName, extras }: Called,
  request: GenerationRequest,
  { text, status }: { text: string; status: ItemStatus },
): Json => {
  const { isCustom, ...named } = callerNameOf(request, flatName);
  const common = { id, call_id: carryingId(callId, extras), ...named };
  return isCustom
    ? { ...common, type: 'custom_tool_call', input: unwrapInput(text) }
    : { ...common, type: 'function_call', status, arguments: text };
};

const PREFIX = { text: 'msg', thinking: 'rs', 'tool-call': 'fc', 'custom-call': 'ctc' } as const;

type ShownHead = Exclude<BlockHead, { type: 'native' }>;

/** Id of the item at an index of the output; unique in a conversation. */
export const itemId = (
  head: ShownHead,
  index: number,
  { request, meta }: { request: GenerationRequest; meta: ResponseMeta },
): string => {
  const isCustom = head.type === 'tool-call' && callerNameOf(request, head.name).isCustom;
  return `${PREFIX[isCustom ? 'custom-call' : head.type]}_${meta.id}${index}`;
};

/** Whether the block is an item of the output: not without content, or of another protocol. */
const isShown = (block: AnswerBlock): boolean => {
  if (block.type === 'text') return block.text !== '';
  if (block.type === 'thinking') return block.text !== '' || block.signature !== undefined;
  return block.type === 'tool-call';
};

// --- response ---

/** The counts; `estimate` replaces an input count that the upstream did not send. */
const encodeUsage = (usage: Usage | undefined, estimate: () => number): Json => {
  const { cacheReadTokens, cacheWriteTokens, reasoningTokens, outputTokens = 0 } = usage ?? {};
  const inputTokens = usage?.inputTokens || estimate();
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: cacheReadTokens ?? 0,
      cache_write_tokens: cacheWriteTokens ?? 0,
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
    total_tokens: inputTokens + outputTokens,
  };
};

/** The response object, in any status. Tools and instructions are not repeated: an agent's are 40 KB. */
export const responseOf = (request: GenerationRequest, meta: ResponseMeta, fields: Json): Json => {
  const echo = asRecord(extraFieldsFor(NAME, request.extras).echo);
  return {
    id: `resp_${meta.id}`,
    object: 'response',
    created_at: meta.created,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: request.maxTokens ?? null,
    metadata: echo?.metadata ?? {},
    model: meta.model,
    output: [],
    parallel_tool_calls: request.parallelToolCalls ?? true,
    previous_response_id: null,
    reasoning: echo?.reasoning ?? { effort: null, summary: null },
    store: false,
    temperature: request.temperature ?? null,
    text: echo?.text ?? { format: { type: 'text' } },
    tool_choice: echo?.tool_choice ?? 'auto',
    tools: [],
    top_p: request.topP ?? null,
    truncation: 'disabled',
    usage: null,
    ...fields,
  };
};

/** A filtered response with a refusal is complete: the refusal is its content. */
const incompleteReason = ({ unified }: FinishReason, hasRefusal: boolean): string | undefined => {
  if (unified === 'length') return 'max_output_tokens';
  return unified === 'content-filter' && !hasRefusal ? 'content_filter' : undefined;
};

/** How a response ends, by its finish reason. */
export const endOf = (reason: FinishReason, hasRefusal: boolean) => {
  const cause = incompleteReason(reason, hasRefusal);
  return cause === undefined
    ? { status: 'completed' as const, details: null }
    : { status: 'incomplete' as const, details: { reason: cause } };
};

/** A response that has ended. */
export const endedResponse = (
  request: GenerationRequest,
  meta: ResponseMeta,
  {
    end,
    output,
    usage,
  }: { end: ReturnType<typeof endOf>; output: Json[]; usage: Usage | undefined },
): Json =>
  responseOf(request, meta, {
    status: end.status,
    incomplete_details: end.details,
    output,
    usage: encodeUsage(usage, meta.estimateInput),
  });

export const encodeResponse = (
  { blocks, reason, usage }: Generation,
  request: GenerationRequest,
  meta: ResponseMeta,
): Json => {
  const shown = blocks.filter(isShown);
  const end = endOf(
    reason,
    shown.some((block) => block.type === 'text' && block.refusal === true),
  );
  const output = shown.map((block, index): Json => {
    // A cap ends the last item only.
    const status = index === shown.length - 1 ? end.status : 'completed';
    if (block.type === 'native') return block.value;
    const id = itemId(block, index, { request, meta });
    if (block.type === 'text') return messageItem(id, [partOf(block.text, block.refusal)], status);
    if (block.type === 'thinking') return reasoningItem(id, block.text, sealThinking(block));
    return callItem(id, block, request, { text: block.arguments || '{}', status });
  });
  return endedResponse(request, meta, { end, output, usage });
};
