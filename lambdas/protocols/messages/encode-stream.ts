import { jsonTemplate } from '../bytes/frame.ts';
import type { Json } from '../bytes/json.ts';
import type { BlockHead, EventOf, GenerationRequest, ResponseMeta, Usage } from '../generation.ts';
import type { EventEncoder } from '../protocol.ts';
import { type BlockEvent, type BlockWriter, createSequencer } from '../streams/sequencer.ts';
import type { SseEvent, SseMessage } from '../streams/sse.ts';
import { encodeFinishReason } from './finish-reason.ts';
import { messageId, responseToolId } from './ids.ts';
import { encodeMessageUsage, encodeUsage } from './usage.ts';

/** The event's name is sent twice, as SSE event and as `type`: SDKs need both. */
export const message = (type: string, fields: Json): SseEvent => ({
  event: type,
  data: JSON.stringify({ type, ...fields }),
});

const DELTA_EVENT = 'content_block_delta';
/** By the kind of block: the kind of its deltas, and the member with their text. */
const DELTAS = {
  text: ['text_delta', 'text'],
  thinking: ['thinking_delta', 'thinking'],
  'tool-call': ['input_json_delta', 'partial_json'],
} as const;

/** `input` is always empty: SDKs read it from the deltas, and would add a value given here. */
const startOfTool = (head: BlockHead & { type: 'tool-call' }): Json => ({
  type: 'tool_use',
  id: responseToolId(head),
  name: head.name,
  input: {},
});

const startOf = (head: BlockHead, signature: string | undefined): Json => {
  switch (head.type) {
    case 'text':
      return { type: 'text', text: '' };
    case 'thinking':
      return head.redacted
        ? { type: 'redacted_thinking', data: signature ?? '' }
        : { type: 'thinking', thinking: '', signature: '' };
    case 'tool-call':
      return startOfTool(head);
    case 'native':
      return head.value;
    default:
      return head satisfies never;
  }
};

/** Writes blocks one after the other: the protocol allows one open block at a time. */
const createBlockWriter = (): BlockWriter => {
  let wireIndex = -1;
  let started = false;
  /** Writes a part of the current block's text as data of a delta. */
  let writeText: ((text: string) => string) | undefined;

  const deltaMessage = (delta: Json): SseEvent => message(DELTA_EVENT, { index: wireIndex, delta });

  const start = (head: BlockHead, signature?: string): SseMessage[] => {
    if (started) return [];
    started = true;
    writeText = undefined;
    wireIndex += 1;
    const block = startOf(head, signature);
    return [message('content_block_start', { index: wireIndex, content_block: block })];
  };

  const end = (head: BlockHead, signature: string | undefined): SseMessage[] => {
    // An empty block of prose is omitted: the vendor would reject it in the next request.
    const isEmpty = !started && (head.type === 'text' || signature === undefined);
    if (isEmpty && head.type !== 'tool-call' && head.type !== 'native') return [];
    const opening = start(head, signature);
    const proof =
      head.type === 'thinking' && !head.redacted && signature !== undefined
        ? [deltaMessage({ type: 'signature_delta', signature })]
        : [];
    started = false;
    return [...opening, ...proof, message('content_block_stop', { index: wireIndex })];
  };

  return {
    /** Tool calls start at once; prose starts with its first delta. */
    begin: (head: BlockHead): SseMessage[] =>
      head.type === 'tool-call' || head.type === 'native' ? start(head) : [],
    write: (head: BlockHead, event: BlockEvent): SseMessage[] => {
      if (event.type === 'block-end') return end(head, event.signature);
      const { type } = head;
      if (type === 'native') return [];
      const opening = start(head);
      const [kind, member] = DELTAS[type];
      writeText ??= jsonTemplate((text) => deltaMessage({ type: kind, [member]: text }).data);
      return [...opening, { event: DELTA_EVENT, data: writeText(event.delta) }];
    },
  };
};

const isWritable = (head: BlockHead): boolean =>
  head.type !== 'native' || head.protocol === 'messages';

export const streamEncoder = (request: GenerationRequest, meta: ResponseMeta): EventEncoder => {
  const { id, model, estimateInput } = meta;

  const start = ({ usage }: EventOf<'start'>): SseMessage[] => {
    // SDKs and agents read the input size from this event.
    const counts: Usage = { inputTokens: 0, outputTokens: 0, ...usage };
    const fields = {
      id: messageId(id, request),
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      container: null,
      stop_details: null,
      stop_reason: null,
      stop_sequence: null,
      diagnostics: null,
      usage: encodeMessageUsage(counts, estimateInput),
    };
    return [message('message_start', { message: fields })];
  };

  const finish = ({ reason, usage }: EventOf<'finish'>): SseMessage[] => {
    const counts = usage ?? { inputTokens: 0, outputTokens: 0 };
    const rest = { usage: encodeUsage(counts, estimateInput) };
    return [
      message('message_delta', { delta: encodeFinishReason(reason), ...rest }),
      message('message_stop', {}),
    ];
  };

  return createSequencer({ ...createBlockWriter(), isWritable, start, finish });
};
