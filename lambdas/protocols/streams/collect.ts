import { withEdit } from '../bytes/edits.ts';
import { isTooDeep } from '../bytes/json.ts';
import { editsOver } from '../bytes/overlay.ts';
import { spliceText } from '../bytes/splice.ts';
import type {
  AnswerBlock,
  BlockHead,
  Generation,
  GenerationEvent,
  GenerationRequest,
  ResponseMeta,
} from '../generation.ts';
import type { CallerProtocol } from '../protocol.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';

const begin = (head: BlockHead): AnswerBlock =>
  head.type === 'tool-call'
    ? { ...head, arguments: '' }
    : head.type === 'native'
      ? { ...head }
      : { ...head, text: '' };

const append = (block: AnswerBlock, delta: string) => {
  if (block.type === 'tool-call') block.arguments += delta;
  else if (block.type !== 'native') block.text += delta;
};

/** Collects the events of a stream into a whole response, for requests without `stream`. */
const createCollector = () => {
  const blocks: AnswerBlock[] = [];
  let generation: Generation | undefined;
  const blockAt = (index: number): AnswerBlock => {
    const block = blocks[index];
    if (!block)
      throw new UpstreamError('malformed', `event for block ${index}, which never started`);
    return block;
  };
  const add = (event: GenerationEvent) => {
    switch (event.type) {
      case 'start':
      case 'aside':
        return;
      case 'block-start':
        blocks[event.index] = {
          ...begin(event.block),
          ...(event.choice !== undefined && { choice: event.choice }),
        };
        return;
      case 'block-delta':
        append(blockAt(event.index), event.delta);
        return;
      case 'block-end': {
        const block = blockAt(event.index);
        if (block.type === 'thinking' && event.signature !== undefined) {
          block.signature = event.signature;
        }
        return;
      }
      case 'finish':
        generation = {
          blocks,
          reason: event.reason,
          ...(event.others && { others: event.others }),
          usage: event.usage,
          ...(event.citations && { citations: event.citations }),
          ...(event.body && { body: event.body }),
        };
        return;
      default:
        event satisfies never;
    }
  };
  return {
    add,
    /** The whole response. @throws UpstreamError when the stream ended early. */
    generation: (): Generation => {
      if (!generation) throw new UpstreamError('truncated', 'the stream ended without a finish');
      return generation;
    },
  };
};

/** @throws UpstreamError from the batches, or when they end without a finish. */
export const collect = async (batches: AsyncIterable<GenerationEvent[]>): Promise<Generation> => {
  const collector = createCollector();
  for await (const batch of batches) batch.forEach(collector.add);
  return collector.generation();
};

/**
 * The text of a whole response: what the upstream sent in the caller's protocol, with edits, or else the encoded form.
 * @throws UpstreamError when it nests too deep
 */
export const writeResponse = (
  { encodeResponse }: Pick<CallerProtocol, 'encodeResponse'>,
  generation: Generation,
  { request, meta }: { request: GenerationRequest; meta: ResponseMeta },
): string => {
  const encoded = encodeResponse(generation, request, meta);
  const { body } = generation;
  if (!body) return JSON.stringify(encoded);
  const { text, value } = body;
  if (text === undefined && isTooDeep(value)) {
    throw new UpstreamError('malformed', 'the response nests too deep');
  }
  const edits = editsOver(value, encoded);
  if (text !== undefined) return spliceText(text, edits);
  return JSON.stringify(edits.reduce<unknown>(withEdit, value));
};
