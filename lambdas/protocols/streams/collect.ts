import { editsOver, withEdit } from '../bytes/edits.ts';
import { isTooDeep } from '../bytes/json.ts';
import { spliceText } from '../bytes/splice.ts';
import type {
  AnswerBlock,
  BlockHead,
  EventOf,
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

const add = (blocks: AnswerBlock[], event: Exclude<GenerationEvent, EventOf<'finish'>>): void => {
  if (event.type === 'start' || event.type === 'aside') return;
  if (event.type === 'block-start') {
    const { index, block, choice } = event;
    blocks[index] = { ...begin(block), ...(choice !== undefined && { choice }) };
    return;
  }
  const block = blocks[event.index];
  if (!block) {
    throw new UpstreamError('malformed', `event for block ${event.index}, which never started`);
  }
  if (event.type === 'block-delta') append(block, event.delta);
  else if (block.type === 'thinking' && event.signature !== undefined) {
    block.signature = event.signature;
  }
};

const endOf = ({ type: _, received: __, isEmpty: ___, ...end }: EventOf<'finish'>) => end;

/**
 * Collects the events of a stream into a whole response, for requests without `stream`.
 * @throws UpstreamError from the batches, or when they end without a finish
 */
export const collect = async (batches: AsyncIterable<GenerationEvent[]>): Promise<Generation> => {
  const blocks: AnswerBlock[] = [];
  let end: Omit<Generation, 'blocks'> | undefined;
  for await (const batch of batches) {
    for (const event of batch) {
      if (event.type !== 'finish') add(blocks, event);
      else end = endOf(event);
    }
  }
  if (!end) throw new UpstreamError('truncated', 'the stream ended without a finish');
  return { blocks, ...end };
};

/**
 * The text of a whole response: what the upstream sent in the caller's protocol, with edits, or else the encoded form.
 * @throws UpstreamError when it nests too deep
 */
export const writeResponse = (
  { encodeResponse, answer }: Pick<CallerProtocol, 'encodeResponse' | 'answer'>,
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
  const edits = editsOver(value, encoded, answer);
  if (text !== undefined) return spliceText(text, edits);
  return JSON.stringify(edits.reduce<unknown>(withEdit, value));
};
