import { isBlankText } from './bytes/edits.ts';
import { asRecord, type Json } from './bytes/json.ts';
import { type Edit, remove, set } from './bytes/splice.ts';
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

/**
 * An agent's billing line at the start of its system prompt. It differs between conversations, in some versions between
 * requests: where it is read as a part of the prompt, no cache has what follows.
 */
const BILLING_LINE = /^x-anthropic-billing-header:[^\n]*\n*/;

/** The text without its billing line; undefined if nothing is left. */
export const spokenText = (text: string): string | undefined =>
  BILLING_LINE.test(text) ? text.replace(BILLING_LINE, '') || undefined : text;

export const spokenBlocks = (blocks: Block[]): Block[] =>
  blocks.flatMap((block) => {
    if (block.type !== 'text') return block;
    const text = spokenText(block.text);
    if (text === block.text) return block;
    return text === undefined ? [] : { ...block, text };
  });

/** Removes the line from the text `name` of what holds it, or the holder if nothing else is in the text. */
export const billingEdits = (holder: Json, name: string): Edit[] => {
  const text = holder[name];
  const spoken = typeof text === 'string' ? spokenText(text) : text;
  if (spoken === text) return [];
  return [spoken === undefined ? remove([]) : set([name], spoken)];
};
