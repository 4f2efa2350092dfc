/** Adapts a request to what an upstream accepts: ids, texts and the thinking of earlier responses. */
import { createHash } from 'node:crypto';
import { asArray, asRecord, type Json } from '../bytes/json.ts';
import type { GenerationRequest, Turn } from '../generation.ts';
import { spokenText } from '../instructions.ts';
import { without } from '../ledger/extras.ts';
import { EARLIER_THINKING } from '../profile.ts';
import type { WireTarget } from '../protocol.ts';
import { callIdsIn, renameCalls } from '../tools/ids.ts';

// --- tool-call ids ---

/** What a target accepts, and how much of an id's hash takes the place of another. */
const FORMS = {
  /** The rule of Mistral, and of servers that run its models with its tokenizer. */
  short: { valid: /^[a-zA-Z0-9]{9}$/, length: 9 },
  /** OpenAI's. */
  limited: { valid: /^.{1,40}$/s, length: 32 },
};
type Form = keyof typeof FORMS;

export const fitsForm = (id: string, form: Form): boolean => FORMS[form].valid.test(id);

const hashOf = (text: string, length: number): string =>
  createHash('sha256')
    .update(text)
    .digest('base64')
    .replaceAll(/[^a-zA-Z0-9]/g, '')
    .slice(0, length);

/** The form of each id that a target accepts: unchanged if valid. Different ids stay different. */
const createFittingIds = (ids: string[], form: Form) => {
  const fitting = new Map(ids.filter((id) => fitsForm(id, form)).map((id) => [id, id]));
  const used = new Set(fitting.keys());
  const mint = (id: string, salt = ''): string => {
    const hash = hashOf(id + salt, FORMS[form].length);
    return used.has(hash) ? mint(id, `${salt}+`) : hash;
  };
  return (id: string): string => {
    const fitted = fitting.get(id) ?? mint(id);
    fitting.set(id, fitted);
    used.add(fitted);
    return fitted;
  };
};

/**
 * Shortens tool-call ids for targets with `toolCallIds`. The same history always maps alike.
 * There is no inverse: a response never names an earlier call.
 */
export const withFittingCallIds = (
  request: GenerationRequest,
  { toolCallIds: form }: WireTarget,
): GenerationRequest => {
  if (form === undefined) return request;
  const fittingId = createFittingIds(request.turns.flatMap(callIdsIn), form);
  return { ...request, turns: renameCalls(request.turns, fittingId, fittingId) };
};

// --- roles ---

const RESULTS = ['tool', 'function'];
const roleOf = ({ role }: Json = {}): unknown => (role === 'developer' ? 'system' : role);

export const repeatsRole = (message: Json, index: number, messages: Json[]): boolean =>
  !RESULTS.includes(String(message.role)) && roleOf(message) === roleOf(messages[index - 1]);

export const followsResult = ({ role }: Json, index: number, messages: Json[]): boolean =>
  role === 'user' && RESULTS.includes(String(messages[index - 1]?.role));

// --- texts ---

/** A message whose parts are texts with one text, for targets that take no list. */
export const withOneText = (message: Json): Json => {
  const parts = asArray(message.content).map((part) => asRecord(part) ?? {});
  if (parts.length === 0) return message;
  if (parts.some(({ type, text }) => type !== 'text' || typeof text !== 'string')) return message;
  const texts = parts.flatMap(({ text }) => spokenText(String(text)) ?? []);
  return { ...message, content: texts.join('\n\n') };
};

// --- thinking of earlier responses ---

/** Replaces missing thinking: upstreams that require the field reject an empty text. */
const PLACEHOLDER = { type: 'thinking' as const, text: ' ' };

const addThinking = (turn: Turn): Turn => {
  const hasThinking = turn.blocks.some(({ type }) => type === 'thinking');
  return turn.role !== 'assistant' || hasThinking
    ? turn
    : { ...turn, blocks: [PLACEHOLDER, ...turn.blocks] };
};

const removeThinking = ({ extras, ...turn }: Turn): Turn => ({
  ...turn,
  blocks: turn.blocks.filter(({ type }) => type !== 'thinking'),
  ...(extras && { extras: { ...extras, fields: without(extras.fields, EARLIER_THINKING) } }),
});

/**
 * Adapts the thinking of earlier responses to the target's `reasoningHistory`: some upstreams reject
 * it as an unknown field, some require it on every assistant turn.
 */
export const withReasoningHistory = (
  request: GenerationRequest,
  { reasoningHistory }: WireTarget,
): GenerationRequest => {
  if (reasoningHistory === undefined || reasoningHistory === 'reasoning') return request;
  const adapt = reasoningHistory === 'required' ? addThinking : removeThinking;
  return { ...request, turns: request.turns.map(adapt) };
};
