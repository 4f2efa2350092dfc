import { expect } from 'vitest';
import * as z from 'zod';
import type { CallerProtocolName } from '../../lambdas/protocols/protocol.ts';
import { ChatCompletion, ChatError } from '../support/chat-schema.ts';
import { MessagesError, WholeMessage } from '../support/messages-schema.ts';
import { EndedResponse, ResponsesError } from '../support/responses-schema.ts';
import { type Json, parseJson, readSse } from '../support/sse-text.ts';
import { assertWellFormed } from '../support/translate.ts';
import type { Answer } from './read-http.ts';

const REQUEST_ID = /^req_[0-9A-Za-z]{24}$/;
/** All that a bad request may be told, and a good one. Limits are out of reach here. */
const STATUSES = [200, 204, 400, 401, 404, 405, 408, 413, 415, 431];

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
const RESPONSES = '/v1/responses';
const COUNT = '/v1/messages/count_tokens';
const INPUT_TOKENS = '/v1/responses/input_tokens';

const Anything = z.record(z.string(), z.unknown());
const Counted = z.strictObject({ input_tokens: z.int().nonnegative() });
const CountedInput = Counted.extend({ object: z.literal('response.input_tokens') });
const WHOLE: Record<string, z.ZodType> = {
  [CHAT]: ChatCompletion,
  [MESSAGES]: WholeMessage,
  [RESPONSES]: EndedResponse,
  [COUNT]: Counted,
  [INPUT_TOKENS]: CountedInput,
};

const expectSchema = (schema: z.ZodType, text: string) => {
  expect(schema.safeParse(JSON.parse(text)).error, text.slice(0, 500)).toBeUndefined();
};

const expectRefusal = (path: string, { headers }: Answer, text: string) => {
  if (path.startsWith(RESPONSES)) return expectSchema(ResponsesError, text);
  if (!path.startsWith(MESSAGES)) return expectSchema(ChatError, text);
  expectSchema(MessagesError, text);
  return expect(text).toContain(`"request_id":"${headers['x-request-id']}"`);
};

/** How an answer ended: a stream may say in its last words that it failed; a good one may be empty. */
type Ending = 'good' | 'empty' | 'refused' | 'broken';

/** What a body, whole or a part of a stream, adds to a response. */
type Said = { hasContent: boolean; isCut: boolean };

/** The ends at which a response may have no content. */
const CUTS = ['length', 'content_filter', 'max_tokens', 'model_context_window_exceeded', 'refusal'];
const isCut = (reason: unknown): boolean => CUTS.includes(String(reason));

/** The members in which clients read a text, not those that a response carries unread. */
const hasText = (holder: Json, ...names: string[]): boolean =>
  names.some((name) => typeof holder[name] === 'string' && holder[name] !== '');

const chatSays = ({ choices }: Json): Said[] =>
  (choices as Json[]).map(({ delta, message = delta, finish_reason }) => {
    const said = message as Json;
    const isOther = [said.tool_calls, said.function_call, said.audio].some((one) => one != null);
    const hasContent = isOther || hasText(said, 'content', 'reasoning_content', 'refusal');
    return { hasContent, isCut: isCut(finish_reason) };
  });

const PROSE = ['text', 'thinking', 'redacted_thinking'];
/** Clients read no text of a delta of another type. */
const PROSE_DELTAS = ['text_delta', 'thinking_delta'];

const messagesSay = (body: Json): Said[] => {
  const { type, stop_reason, content, content_block, delta = {} } = body;
  const blocks = type === 'message' ? content : type === 'content_block_start' && [content_block];
  const hasBlock = ((blocks || []) as Json[]).some(
    (block) => hasText(block, 'text', 'thinking') || !PROSE.includes(String(block.type)),
  );
  const added = delta as Json;
  const isProse = type === 'content_block_delta' && PROSE_DELTAS.includes(String(added.type));
  const hasDelta = isProse && hasText(added, 'text', 'thinking');
  return [{ hasContent: hasBlock || hasDelta, isCut: isCut(stop_reason ?? added.stop_reason) }];
};

/** A whole response, or an event that has one. Reasoning that is not shown is in its seal. */
const responseSays = ({ response, ...body }: Json): Said[] => {
  const { output, status } = (response ?? body) as Json;
  const hasContent = ((output ?? []) as Json[]).some(({ type, content, summary }) => {
    const parts = (type === 'reasoning' ? summary : content) as Json[] | undefined;
    return parts?.some((part) => hasText(part, 'text', 'refusal')) ?? true;
  });
  return [{ hasContent, isCut: status === 'incomplete' }];
};

const SAYS: Record<string, (body: Json) => Said[]> = {
  [CHAT]: chatSays,
  [MESSAGES]: messagesSay,
  [RESPONSES]: responseSays,
};

const goodOrEmpty = (path: string, text: string): Ending => {
  const says = SAYS[path];
  if (!says) return 'good';
  const bodies = text.startsWith('{') ? [text] : readSse(text).map(({ data }) => data);
  const said = bodies
    .filter((body) => body.startsWith('{'))
    .flatMap((body) => says(parseJson(body)));
  return said.some((one) => one.hasContent || one.isCut) ? 'good' : 'empty';
};

const PROTOCOLS: Record<string, CallerProtocolName> = {
  [CHAT]: 'chat',
  [MESSAGES]: 'messages',
  [RESPONSES]: 'responses',
};

/** Holds an answer to its family's form, whatever it says. */
export const expectForm = (path: string, answer: Answer): Ending => {
  const { status, headers, body } = answer;
  const text = body.toString('utf8');
  expect(headers['x-request-id']).toMatch(REQUEST_ID);
  expect(headers['request-id']).toBe(headers['x-request-id']);
  if (status >= 400) {
    expectRefusal(path, answer, text);
    return 'refused';
  }
  if (headers['content-type']?.startsWith('text/event-stream')) {
    const { isError } = assertWellFormed(PROTOCOLS[path] ?? 'chat', text);
    return isError ? 'broken' : goodOrEmpty(path, text);
  }
  expectSchema(WHOLE[path] ?? Anything, text);
  // Relayed as its provider wrote it, with any white space.
  return goodOrEmpty(path, JSON.stringify(JSON.parse(text)));
};

/** Holds the answer to a request, however bad, to what its caller is owed while upstreams are well. */
export const expectOwed = (method: string, path: string, answer: Answer) => {
  const { status, body } = answer;
  const text = body.toString('utf8');
  expect(STATUSES, text.slice(0, 500)).toContain(status);
  if (method === 'HEAD' || status === 204) expect(text).toBe('');
  else expect(expectForm(path, answer), text.slice(-500)).not.toBe('broken');
};

/** What an answer costs: one unit for a generation, nothing for anything else. */
export const costOf = (method: string, path: string, { status }: Pick<Answer, 'status'>): number =>
  method === 'POST' && status === 200 && [CHAT, MESSAGES, RESPONSES].includes(path) ? 1 : 0;
