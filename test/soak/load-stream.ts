import { once } from 'node:events';
import { type Agent, type IncomingMessage, request } from 'node:http';
import { createSseReader } from '../../lambdas/protocols/streams/sse.ts';
import { ChatChunk } from '../support/chat-schema.ts';
import type { Family } from '../support/families.ts';
import { MessagesEvent } from '../support/messages-schema.ts';
import { idOn } from './load-models.ts';

type Json = Record<string, unknown>;

/** What one stream came to. */
export type StreamResult = {
  status: number;
  /** Numbered words that came, and what was wrong with them. */
  words: number;
  lost: number;
  duplicated: number;
  reordered: number;
  /** Events that are not of the family's form, or not in the family's order. */
  malformed: number;
  /** Between two words, in milliseconds. */
  gaps: number[];
};

export type StreamPlan = {
  url: string;
  key: string;
  agent: Agent;
  family: Family;
  protocol: Family;
  words: number;
};

const PATHS = { chat: '/v1/chat/completions', messages: '/v1/messages' };
const SCHEMA = { chat: ChatChunk, messages: MessagesEvent };

const asJson = (value: unknown): Json => value as Json;

/** The text of a chat event, or the name of what it is. */
const readChat = (event: Json): { word: string } | { sign: string } => {
  const [choice] = event.choices as Json[];
  const delta = asJson(choice?.delta);
  if (choice?.finish_reason !== null) return { sign: `finish ${String(choice?.finish_reason)}` };
  return 'role' in delta ? { sign: 'open' } : { word: String(delta.content) };
};

const readMessages = (event: Json): { word: string } | { sign: string } => {
  const delta = asJson(event.delta);
  if (event.type === 'content_block_delta') return { word: String(delta.text) };
  if (event.type === 'message_delta') return { sign: `finish ${String(delta.stop_reason)}` };
  return { sign: String(event.type) };
};

const READ = { chat: readChat, messages: readMessages };

/** The signs around the words, in order; `…` stands for the words. */
const SIGNS = {
  chat: 'open, …, finish stop, [DONE]',
  messages:
    'message_start, content_block_start, …, content_block_stop, finish end_turn, message_stop',
};

/** Compares the numbers that came with 0, 1, 2 … */
const compare = (numbers: number[], expected: number) => {
  const seen = new Set(numbers);
  const inOrder = numbers.every((number, at) => at === 0 || number >= (numbers[at - 1] ?? 0));
  return {
    lost: Array.from({ length: expected }, (_, n) => n).filter((n) => !seen.has(n)).length,
    duplicated: numbers.length - seen.size,
    reordered: inOrder ? 0 : 1,
  };
};

const open = async ({ url, key, agent, family, protocol, words }: StreamPlan) => {
  const numbered = Array.from({ length: words }, (_, number) => `w${number}`).join(' ');
  const body = JSON.stringify({
    model: idOn(protocol),
    stream: true,
    max_tokens: words + 1,
    messages: [{ role: 'user', content: `say ${numbered}` }],
  });
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const sent = request(`${url}${PATHS[family]}`, { method: 'POST', headers, agent });
  sent.end(body);
  const [response]: [IncomingMessage] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
};

/** Reads one stream to its end and holds every event against the family's schema and order. */
export const readStream = async (plan: StreamPlan): Promise<StreamResult> => {
  const response = await open(plan);
  const { family, words } = plan;
  const signs: string[] = [];
  const numbers: number[] = [];
  const gaps: number[] = [];
  let malformed = 0;
  let last: number | undefined;
  const take = (data: string) => {
    if (data === '[DONE]') return signs.push(data);
    const event: Json = JSON.parse(data);
    if (event.type === 'ping') return undefined;
    if (!SCHEMA[family].safeParse(event).success) malformed += 1;
    const read = READ[family](event);
    if ('sign' in read) return signs.push(read.sign);
    const now = performance.now();
    if (last !== undefined) gaps.push(now - last);
    last = now;
    if (signs.at(-1) !== '…') signs.push('…');
    return numbers.push(Number(/^ ?w(\d+)$/.exec(read.word)?.[1]));
  };
  try {
    const sse = createSseReader();
    for await (const chunk of response) for (const { data } of sse.push(chunk)) take(data);
    for (const { data } of sse.end()) take(data);
  } catch {
    malformed += 1;
  }
  if (signs.join(', ') !== SIGNS[family]) malformed += 1;
  const status = response.statusCode ?? 0;
  return { status, words: numbers.length, malformed, gaps, ...compare(numbers, words) };
};
