import type { BlockHead } from './generation.ts';
import { isJsonObject } from './json.ts';

/** `key` is the decoder's name of the block; `text` is kept of tool calls only. */
export type OpenBlock = { key: string; index: number; head: BlockHead; text: string };

/** The blocks of an answer that have begun and not ended, numbered in the order of their start. */
export const createOpenBlocks = () => {
  const blocks = new Map<string, OpenBlock>();
  /** Tool calls that have had something to say since they were last looked at. */
  const unread = new Set<OpenBlock>();
  let count = 0;
  return {
    has: (key: string): boolean => blocks.has(key),
    get: (key: string): OpenBlock | undefined => blocks.get(key),
    keys: (): string[] => [...blocks.keys()],
    add: (key: string, head: BlockHead): OpenBlock => {
      const block = { key, index: count++, head, text: '' };
      blocks.set(key, block);
      return block;
    },
    remove: (block: OpenBlock) => {
      blocks.delete(block.key);
      unread.delete(block);
    },
    appendArguments: (block: OpenBlock, text: string) => {
      block.text += text;
      unread.add(block);
    },
    /** Keys of the tool calls whose arguments have become complete since the last time. */
    newlyComplete: (): string[] => {
      const complete = [...unread].filter(({ text }) => isJsonObject(text));
      unread.clear();
      return complete.map(({ key }) => key);
    },
  };
};
