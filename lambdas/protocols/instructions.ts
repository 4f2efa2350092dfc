import { isBlankText } from './bytes/edits.ts';
import { asRecord, type Json } from './bytes/json.ts';
import { type Edit, set } from './bytes/splice.ts';
import type { Block, GenerationRequest, Turn } from './generation.ts';

/** A request with one more sentence for the model. */
export const instruct = (request: GenerationRequest, text: string): GenerationRequest => ({
  ...request,
  instructions: [...(request.instructions ?? []), text],
});

/** A text of the system within a turn of the user. */
export const reminderOf = (text: string): string =>
  `<system-reminder>\n${text}\n</system-reminder>`;

/** Turns a later system turn into a marked user turn, in its place. */
export const asReminder = (turn: Turn): Turn => {
  if (turn.role !== 'system') return turn;
  const wrapped = turn.blocks.map(
    (block): Block => (block.type === 'text' ? { ...block, text: reminderOf(block.text) } : block),
  );
  return { role: 'user', blocks: wrapped };
};

const part = (text: string): Json => ({ type: 'text', text });

const isSaid = (message: unknown): boolean => {
  const { role, content } = asRecord(message) ?? {};
  const parts = Array.isArray(content) ? content.map((one) => asRecord(one)?.text) : [content];
  const isRemoved = parts.every((text) => text === null || isBlankText(text));
  return role !== 'assistant' && role !== 'system' && role !== 'developer' && !isRemoved;
};

/**
 * Adds the instructions at the end of the user's last turn: what precedes it is what the next request begins with, and what a
 * provider has cached. `isJoined`: a text stays one.
 */
export const instructionEdits = (
  messages: unknown[],
  instructions: readonly string[],
  isJoined: boolean,
): Edit[] => {
  const text = reminderOf(instructions.join('\n'));
  const last = messages.findLastIndex(isSaid);
  const { role, content } = asRecord(messages[last]) ?? {};
  // Results of chat are messages of their own.
  if (role !== 'user') return [set(['messages', messages.length], { role: 'user', content: text })];
  const path = ['messages', last, 'content'];
  if (Array.isArray(content)) return [set([...path, content.length], part(text))];
  const said = String(content);
  return [set(path, isJoined ? `${said}\n\n${text}` : [part(said), part(text)])];
};

/** An agent's accounting line; it changes on every request, which would defeat the upstream's cache. */
const BILLING_LINE = /^x-anthropic-billing-header:/;
export const isBillingLine = (text: unknown): boolean =>
  typeof text === 'string' && BILLING_LINE.test(text);
