import { createSharedValues, oncePer } from '../../support/memo.ts';
import type { Turn } from '../generation.ts';
import { noContent } from '../ledger/assert-consistent.ts';
import { extrasIfAny } from '../ledger/extras.ts';
import { decodeContent } from './content.ts';
import { NAME } from './name.ts';
import type { ContentBlock, Message } from './wire.ts';

export const decodeMessage = oncePer(
  createSharedValues<Message, Turn>(),
  ({ role, content, ...fields }, index: number): Turn => ({
    role,
    blocks: decodeContent(content, `messages.${index}`),
    ...extrasIfAny(NAME, fields),
  }),
);

/** The top-level system prompt is the first turn of the conversation. */
export const decodeSystem = (system: string | ContentBlock[] | undefined): Turn[] =>
  system === undefined || system.length === 0
    ? []
    : [{ role: 'system', blocks: decodeContent(system, 'system') }];

const isBlank = ({ role, blocks }: Turn): boolean =>
  role === 'system' || blocks.every((block) => block.type === 'text' && block.text.trim() === '');

/**
 * Agents echo empty texts among others, so single ones pass.
 * @throws ApiError 400 when every turn is blank.
 */
export const assertContent = (turns: Turn[]): void => {
  if (turns.every(isBlank)) throw noContent();
};
