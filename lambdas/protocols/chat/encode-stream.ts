import { jsonTemplate } from '../bytes/frame.ts';
import type { Json } from '../bytes/json.ts';
import type {
  BlockHead,
  Citation,
  EventOf,
  GenerationEvent,
  GenerationRequest,
  ResponseMeta,
} from '../generation.ts';
import type { EventEncoder } from '../protocol.ts';
import type { SseEvent, SseMessage } from '../streams/sse.ts';
import { annotationsOf, type Span } from './annotations.ts';
import { encodeFinishReason } from './finish-reason.ts';
import { usesFunctions } from './functions.ts';
import { includesUsage } from './request.ts';
import { toolCall } from './response.ts';
import { encodeThoughts, type Thought } from './signed-thinking.ts';
import { encodeUsage } from './usage.ts';

/** A chunk with the fields that all chunks of a response share. */
const chunkOf = (meta: ResponseMeta, fields: Json): SseEvent => ({
  data: JSON.stringify({
    id: `chatcmpl-${meta.id}`,
    object: 'chat.completion.chunk',
    created: meta.created,
    model: meta.model,
    ...fields,
  }),
});

type Call = BlockHead & { type: 'tool-call' };
/** The member of a message that holds a call. */
type CallField = 'function' | 'custom' | 'function_call';

const proseFieldOf = (block: BlockHead & { type: 'text' | 'thinking' }) => {
  if (block.type === 'thinking') return 'reasoning_content';
  return block.refusal ? 'refusal' : 'content';
};

const fieldOf = ({ custom }: Call, request: GenerationRequest): CallField => {
  if (usesFunctions(request)) return 'function_call';
  return custom ? 'custom' : 'function';
};

type WriteChunk = (delta: Json) => SseEvent;

type Block = {
  /** The member of a message that holds its text. */
  field: CallField | 'content' | 'refusal' | 'reasoning_content';
  isEmpty: boolean;
  /** Writes a part of its text as data of a chunk. */
  write(text: string): string;
};

/** Writes the blocks of one choice as deltas: a tool call by its index among the calls, prose by its field. */
const createBlockWriter = (chunk: WriteChunk, request: GenerationRequest) => {
  const blocks = new Map<number, Block>();
  const thoughts = new Map<number, Thought>();
  let calls = 0;
  let content = '';
  const spans = new Map<number, Span>();

  const add = (index: number, field: Block['field'], deltaOf: (text: string) => Json) => {
    const write = jsonTemplate((text) => chunk(deltaOf(text)).data);
    blocks.set(index, { field, isEmpty: true, write });
  };

  const startCall = (index: number, call: Call): SseMessage[] => {
    const field = fieldOf(call, request);
    const wire = toolCall(call, '');
    const place = calls++;
    if (field === 'function_call') {
      // A message has one call of the older form.
      if (place > 0) return [];
      add(index, field, (text) => ({ function_call: { arguments: text } }));
      return [chunk({ function_call: wire.function })];
    }
    const member = field === 'custom' ? 'input' : 'arguments';
    add(index, field, (text) => ({ tool_calls: [{ index: place, [field]: { [member]: text } }] }));
    return [chunk({ tool_calls: [{ index: place, ...wire }] })];
  };

  return {
    start({ index, block }: EventOf<'block-start'>): SseMessage[] {
      if (block.type === 'native') return [];
      if (block.type === 'tool-call') return startCall(index, block);
      const field = proseFieldOf(block);
      add(index, field, (text) => ({ [field]: text }));
      if (block.type === 'thinking') {
        const { redacted } = block;
        const { length: characters } = content;
        thoughts.set(index, { text: '', ...(redacted && { redacted }), characters, calls });
      }
      return [];
    },
    append({ index, delta }: EventOf<'block-delta'>): SseMessage[] {
      const block = blocks.get(index);
      if (!block) return [];
      block.isEmpty = false;
      const thought = thoughts.get(index);
      if (thought) thought.text += delta;
      else if (block.field === 'content') {
        const start = spans.get(index)?.start ?? content.length;
        content += delta;
        spans.set(index, { start, end: content.length });
      }
      return [{ data: block.write(delta) }];
    },
    /** Empty arguments are sent as `{}`: callers JSON.parse them. */
    end({ index, signature }: EventOf<'block-end'>): SseMessage[] {
      const thought = thoughts.get(index);
      if (thought && signature !== undefined) thought.signature = signature;
      const block = blocks.get(index);
      const isCall = block?.field === 'function' || block?.field === 'function_call';
      return isCall && block.isEmpty ? [{ data: block.write('{}') }] : [];
    },
    /** The signed thinking and what is cited, whole: clients differ in how they join parts of a list. */
    lists: (citations: Citation[] | undefined): Json => ({
      ...(thoughts.size > 0 && encodeThoughts([...thoughts.values()])),
      ...(citations && annotationsOf(citations, content, (block) => spans.get(block))),
    }),
  };
};

export const streamEncoder = (request: GenerationRequest, meta: ResponseMeta): EventEncoder => {
  const isIncluded = includesUsage(request);
  // If usage is requested, the vendor sends `usage: null` on every chunk but the last.
  const common = isIncluded ? { usage: null } : {};
  const chunkFor =
    (index: number): WriteChunk =>
    (delta) =>
      chunkOf(meta, { choices: [{ index, delta, finish_reason: null }], ...common });

  const first = createBlockWriter(chunkFor(0), request);
  const writers = [first];
  /** The writers of blocks that are not of the first choice. */
  const writerOf = new Map<number, ReturnType<typeof createBlockWriter>>();
  const writerFor = ({ index }: { index: number }) => writerOf.get(index) ?? first;

  const open = (choice: number): SseMessage => chunkFor(choice)({ role: 'assistant', content: '' });

  const startBlock = (event: EventOf<'block-start'>): SseMessage[] => {
    const { choice = 0, index } = event;
    const known = writers[choice];
    const writer = known ?? createBlockWriter(chunkFor(choice), request);
    writers[choice] = writer;
    if (choice > 0) writerOf.set(index, writer);
    return [...(known ? [] : [open(choice)]), ...writer.start(event)];
  };

  /**
   * If usage is requested, the vendor sends it on a last chunk without choices. If the request does not
   * state it, usage is on the last chunk with a finish reason, which stays the last one: clients that never
   * ask read it there and would show 0 tokens.
   */
  const finish = ({ reason, others = [], usage, citations }: EventOf<'finish'>): SseMessage[] => {
    const counts = { usage: encodeUsage(usage, meta.estimateInput) };
    const ends = writers.map((writer, index) => {
      const ofChoice = others[index - 1] ?? reason;
      const delta = writer.lists(index === 0 ? citations : undefined);
      const finish_reason = encodeFinishReason(ofChoice, request);
      const isLast = index === writers.length - 1;
      return chunkOf(meta, {
        choices: [{ index, delta, finish_reason }],
        ...common,
        ...(isLast && isIncluded === undefined && counts),
      });
    });
    return [
      ...ends,
      ...(isIncluded ? [chunkOf(meta, { choices: [], ...counts })] : []),
      { data: '[DONE]' },
    ];
  };

  const push = (event: GenerationEvent): SseMessage[] => {
    switch (event.type) {
      case 'start':
        return [open(0)];
      case 'block-start':
        return startBlock(event);
      case 'block-delta':
        return writerFor(event).append(event);
      case 'block-end':
        return writerFor(event).end(event);
      case 'aside':
        return [];
      case 'finish':
        return finish(event);
      default:
        return event satisfies never;
    }
  };
  return { push };
};
