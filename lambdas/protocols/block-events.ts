import type { AnswerSoFar } from './finish-check.ts';
import type { BlockHead, Extras, GenerationEvent } from './generation.ts';
import { isJsonObject } from './json.ts';
import { createOpenBlocks, type OpenBlock } from './open-blocks.ts';
import { UpstreamError } from './upstream-error.ts';

/** White space before arguments says nothing; where nothing else follows it is no JSON. */
const saidBy = ({ head, text }: OpenBlock, delta: string): string =>
  head.type === 'tool-call' && text === '' ? delta.trimStart() : delta;

/** The block's tool, if its arguments are nothing that a tool could take. */
const brokenTool = ({ head, text }: OpenBlock): string | undefined =>
  head.type === 'tool-call' && text !== '' && !isJsonObject(text) ? head.name : undefined;

/** Emits the events of an answer's blocks, and notes what the answer holds. */
export const createBlockEvents = (emit: (event: GenerationEvent) => void) => {
  const blocks = createOpenBlocks();
  const answer: AnswerSoFar = { hasContent: false, hasTools: false, brokenTool: undefined };

  const close = (key: string, signature?: string) => {
    const block = blocks.get(key);
    if (!block) return;
    blocks.remove(block);
    answer.brokenTool ??= brokenTool(block);
    const ended = { type: 'block-end' as const, index: block.index };
    emit(signature === undefined ? ended : { ...ended, signature });
  };

  const open = (key: string, head: BlockHead) => {
    // A wire that starts a block twice has begun another one.
    close(key);
    const { index } = blocks.add(key, head);
    if (head.type === 'tool-call') answer.hasTools = true;
    if (head.type === 'foreign' || head.type === 'tool-call') answer.hasContent = true;
    emit({ type: 'block-start', index, block: head });
  };

  const delta = (key: string, text: string) => {
    const block = blocks.get(key);
    if (!block) throw new UpstreamError('malformed', `delta for block '${key}', which is not open`);
    const said = saidBy(block, text);
    if (said === '') return;
    answer.hasContent = true;
    if (block.head.type === 'tool-call') blocks.appendArguments(block, said);
    emit({ type: 'block-delta', index: block.index, delta: said });
  };

  const closeAll = (keys: string[]) => {
    for (const key of keys) close(key);
  };

  return {
    answer,
    isOpen: blocks.has,
    open,
    delta,
    extra: (key: string, extras: Extras) => {
      const block = blocks.get(key);
      if (block) emit({ type: 'block-extra', index: block.index, extras });
    },
    close,
    closeCompleteTools: () => closeAll(blocks.newlyComplete()),
    closeAll: () => closeAll(blocks.keys()),
  };
};
