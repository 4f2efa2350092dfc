import { behind, mapOnce } from '../../support/memo.ts';
import type { Turn } from '../generation.ts';
import { noContent } from '../ledger/assert-consistent.ts';
import { extrasIfAny } from '../ledger/extras.ts';
import { decodeContent } from './content.ts';
import type { ContentBlock, Message } from './wire.ts';

const decodeMessages = mapOnce(
  ({ role, content, ...fields }: Message, index): Turn => ({
    role,
    blocks: decodeContent(content, `messages.${index}`),
    ...extrasIfAny('messages', fields),
  }),
);

/** The conversation. The top-level system prompt is its first turn. */
export const decodeTurns = (
  messages: readonly Message[],
  system: string | ContentBlock[] | undefined,
): Turn[] => {
  const turns = decodeMessages(messages);
  if (!system?.length) return turns;
  return behind({ role: 'system', blocks: decodeContent(system, 'system') }, turns);
};

const isBlank = ({ role, blocks }: Turn): boolean =>
  role === 'system' || blocks.every((block) => block.type === 'text' && block.text.trim() === '');

/**
 * Agents echo empty texts among others, so single ones pass.
 * @throws ApiError 400 when every turn is blank.
 */
export const assertContent = (turns: Turn[]): void => {
  if (turns.every(isBlank)) throw noContent();
};
