import { extraFieldsFor } from '../extras.ts';
import type { EventOf, GenerationEvent, GenerationRequest, ResponseMeta } from '../generation.ts';
import type { Json } from '../json.ts';
import type { EventEncoder } from '../protocol.ts';
import type { SseMessage } from '../sse.ts';
import { encodeFinishReason } from './finish-reason.ts';
import { NAME } from './name.ts';
import { includesUsage } from './request.ts';
import { responseFieldsOf } from './response-fields.ts';
import { encodeUsage } from './usage.ts';

/** A chunk with the fields that all chunks of a response share. */
const chunkOf = (meta: ResponseMeta, fields: Json): SseMessage => ({
  data: JSON.stringify({
    id: `chatcmpl-${meta.id}`,
    object: 'chat.completion.chunk',
    created: meta.created,
    model: meta.model,
    ...fields,
  }),
});

type WriteChunk = (delta: Json, rest?: Json) => SseMessage;

/** Writes blocks as deltas: a tool call by its index among the calls, prose by its field. */
const createBlockWriter = (chunk: WriteChunk) => {
  /** Canonical block index -> index among the tool calls. */
  const toolIndex = new Map<number, number>();
  const proseField = new Map<number, string>();
  const toolsWithoutArguments = new Set<number>();

  const toolChunk = (index: number, call: Json): SseMessage =>
    chunk({ tool_calls: [{ index, ...call }] });

  return {
    start({ index, block }: EventOf<'block-start'>): SseMessage[] {
      if (block.type === 'native') return [];
      if (block.type !== 'tool-call') {
        const text = block.type === 'text' && block.refusal ? 'refusal' : 'content';
        proseField.set(index, block.type === 'text' ? text : 'reasoning_content');
        return [];
      }
      const wireIndex = toolIndex.size;
      toolIndex.set(index, wireIndex);
      toolsWithoutArguments.add(index);
      const { id, name, extras } = block;
      const called = { id, type: 'function', function: { name, arguments: '' } };
      return [toolChunk(wireIndex, { ...extraFieldsFor(NAME, extras), ...called })];
    },
    append({ index, delta }: EventOf<'block-delta'>): SseMessage[] {
      const wireIndex = toolIndex.get(index);
      if (wireIndex !== undefined) {
        toolsWithoutArguments.delete(index);
        return [toolChunk(wireIndex, { function: { arguments: delta } })];
      }
      const field = proseField.get(index);
      return field === undefined ? [] : [chunk({ [field]: delta })];
    },
    /** Empty arguments are sent as `{}`: callers JSON.parse them. */
    end({ index }: EventOf<'block-end'>): SseMessage[] {
      const wireIndex = toolIndex.get(index);
      if (wireIndex === undefined || !toolsWithoutArguments.has(index)) return [];
      return [toolChunk(wireIndex, { function: { arguments: '{}' } })];
    },
  };
};

export const streamEncoder = (request: GenerationRequest, meta: ResponseMeta): EventEncoder => {
  const isIncluded = includesUsage(request);
  // If usage is requested, the vendor sends `usage: null` on every chunk but the last.
  const common = isIncluded ? { usage: null } : {};

  const chunk = (delta: Json, rest: Json = {}): SseMessage =>
    chunkOf(meta, { choices: [{ index: 0, delta, finish_reason: null, ...rest }], ...common });

  /**
   * If usage is requested, the vendor sends it on a last chunk without choices. If the request does not
   * state it, usage is on the chunk with the finish reason, which stays the last one: clients that never
   * ask read it there and would show 0 tokens.
   */
  const finish = ({ reason, usage }: EventOf<'finish'>): SseMessage[] => {
    const { response, message } = responseFieldsOf(reason.extras);
    const choice = { index: 0, delta: message, finish_reason: encodeFinishReason(reason) };
    const counts = { usage: encodeUsage(usage, meta.estimateInput) };
    const last = { ...common, ...(isIncluded === undefined && counts) };
    return [
      chunkOf(meta, { ...response, choices: [choice], ...last }),
      ...(isIncluded ? [chunkOf(meta, { ...response, choices: [], ...counts })] : []),
      { data: '[DONE]' },
    ];
  };

  const blocks = createBlockWriter(chunk);

  const push = (event: GenerationEvent): SseMessage[] => {
    switch (event.type) {
      case 'start':
        return [chunk({ role: 'assistant', content: '' })];
      case 'block-start':
        return blocks.start(event);
      case 'block-delta':
        return blocks.append(event);
      case 'block-extra':
        return event.extras.protocol === NAME ? [chunk({}, event.extras.fields)] : [];
      case 'block-end':
        return blocks.end(event);
      case 'finish':
        return finish(event);
      default:
        return event satisfies never;
    }
  };
  return { push };
};
