import { growOnce } from '../../support/memo.ts';
import type { Turn } from '../generation.ts';
import { noContent } from '../ledger/assert-consistent.ts';
import { extrasIfAny } from '../ledger/extras.ts';
import { decodeContent } from './content.ts';
import { NAME } from './name.ts';
import type { ContentBlock, Message } from './wire.ts';

const decodeMessage = ({ role, content, ...fields }: Message, index: number): Turn => ({
  role,
  blocks: decodeContent(content, `messages.${index}`),
  ...extrasIfAny(NAME, fields),
});

type System = string | ContentBlock[] | undefined;

const addTurns = (turns: Turn[], messages: readonly Message[], [system]: [System]): true => {
  const lead = system?.length ? 1 : 0;
  if (system && turns.length < lead) {
    turns.push({ role: 'system', blocks: decodeContent(system, 'system') });
  }
  for (const message of messages.slice(turns.length - lead)) {
    turns.push(decodeMessage(message, turns.length - lead));
  }
  return true;
};

/** The conversation. The top-level system prompt is its first turn. */
export const decodeTurns = growOnce(addTurns);

const isBlank = ({ role, blocks }: Turn): boolean =>
  role === 'system' || blocks.every((block) => block.type === 'text' && block.text.trim() === '');

/**
 * Agents echo empty texts among others, so single ones pass.
 * @throws ApiError 400 when every turn is blank.
 */
export const assertContent = (turns: Turn[]): void => {
  if (turns.every(isBlank)) throw noContent();
};
