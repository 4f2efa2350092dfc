import { omitUndefined } from '../../support/omit-undefined.ts';
import { extraFieldsFor, extrasIfAny } from '../extras.ts';
import type { Block, GenerationRequest, Turn } from '../generation.ts';
import type { Json } from '../json.ts';
import { nothingSaid } from '../nothing-said.ts';
import type { WireTarget } from '../protocol.ts';
import { decodeContent, encodeContent } from './content.ts';
import { NAME } from './name.ts';
import { withUniqueCalls } from './unique-calls.ts';
import type { ContentBlock, Message } from './wire.ts';

// --- wire -> canonical ---

export const decodeMessage = ({ role, content, ...fields }: Message, index: number): Turn => ({
  role,
  blocks: decodeContent(content, `messages.${index}`),
  ...extrasIfAny(NAME, fields),
});

/** The top-level system prompt is the first turn of the conversation. */
export const decodeSystem = (system: string | ContentBlock[] | undefined): Turn[] =>
  system === undefined || system.length === 0
    ? []
    : [{ role: 'system', blocks: decodeContent(system, 'system') }];

const saysNothing = ({ role, blocks }: Turn): boolean =>
  role === 'system' || blocks.every((block) => block.type === 'text' && block.text.trim() === '');

/** Agents echo empty texts among others; only a conversation of nothing else is refused. @throws ApiError 400 */
export const assertContent = (turns: Turn[]): void => {
  if (turns.every(saysNothing)) throw nothingSaid();
};

// --- canonical -> wire ---

/** Results first, as the vendor demands. */
const resultsFirst = (blocks: Block[]): Block[] => [
  ...blocks.filter(({ type }) => type === 'tool-result'),
  ...blocks.filter(({ type }) => type !== 'tool-result'),
];

/** Consecutive turns of one role become one, as the vendor does by itself. */
const mergeTurns = (turns: Turn[]): Turn[] => {
  const merged: Turn[] = [];
  for (const turn of turns) {
    const last = merged.at(-1);
    if (last?.role !== turn.role || turn.role === 'system') merged.push(turn);
    else merged[merged.length - 1] = { ...last, blocks: [...last.blocks, ...turn.blocks] };
  }
  return merged.map((turn) => ({ ...turn, blocks: resultsFirst(turn.blocks) }));
};

/** A later system turn that cannot stay one keeps its place, and is marked for what it is. */
const asReminder = (turn: Turn): Turn => {
  if (turn.role !== 'system') return turn;
  const wrapped = turn.blocks.map(
    (block): Block =>
      block.type === 'text'
        ? { ...block, text: `<system-reminder>\n${block.text}\n</system-reminder>` }
        : block,
  );
  return { role: 'user', blocks: wrapped };
};

/** The vendor refuses white space at the end of what the assistant is to continue. */
const trimPrefill = (turns: Turn[]): Turn[] => {
  const last = turns.at(-1);
  const block = last?.blocks.at(-1);
  if (last?.role !== 'assistant' || block?.type !== 'text') return turns;
  const trimmed = { ...block, text: block.text.trimEnd() };
  return [...turns.slice(0, -1), { ...last, blocks: [...last.blocks.slice(0, -1), trimmed] }];
};

/** The vendor wants a user to begin; the other family's callers may begin with anybody. */
const PLACEHOLDER = { role: 'user', content: '(continue)' };

/** False when nothing is left to say, e.g. only thinking of another upstream. */
const hasContent = ({ blocks }: Turn): boolean => encodeContent(blocks) !== '';

const encodeConversation = (turns: Turn[]): Json[] =>
  mergeTurns(withUniqueCalls(turns.filter(hasContent))).map(({ role, blocks, extras }) => ({
    ...extraFieldsFor(NAME, extras),
    role,
    content: encodeContent(blocks),
  }));

const encodeMessages = (
  turns: Turn[],
  { extras }: GenerationRequest,
  { systemTurns }: WireTarget,
): Json[] => {
  if (extras.protocol === NAME) {
    const messages = encodeConversation(systemTurns === 'leading' ? turns.map(asReminder) : turns);
    if (messages.length === 0) throw nothingSaid();
    return messages;
  }
  const messages = encodeConversation(trimPrefill(turns.map(asReminder)));
  return messages[0]?.role === 'user' ? messages : [PLACEHOLDER, ...messages];
};

/**
 * The conversation as this wire splits it: what the leading system turns say, and the turns after them.
 * @throws ApiError 400 when a caller of this family said nothing at all.
 */
export const encodeTurns = (request: GenerationRequest, target: WireTarget) => {
  const { turns } = request;
  const firstOther = turns.findIndex((turn) => turn.role !== 'system');
  const lead = firstOther === -1 ? turns : turns.slice(0, firstOther);
  const later = firstOther === -1 ? [] : turns.slice(firstOther);
  const system = encodeContent(lead.flatMap(({ blocks }) => blocks));
  const messages = encodeMessages(later, request, target);
  return omitUndefined({ system: system === '' ? undefined : system, messages });
};
