import type { Answer } from '../fuzz/read-http.ts';
import { isObject, isText, type Json, listOf } from '../support/strict-upstream/checker.ts';
import type { Caller } from './conversation.ts';

/** What a caller has read, by a reader that shares no code with the router. */
export type Read = {
  text: string;
  calls: { id: string; name: string; arguments: string }[];
  finish: string;
  usage: { input: number; cached: number; output: number };
};

const objects = (value: unknown): Json[] => listOf(value).filter(isObject);
const member = (value: unknown, name: string): unknown =>
  isObject(value) ? value[name] : undefined;
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** The data of each event. @throws Error when a line is neither a field nor a comment. */
const eventsOf = (text: string): string[] => {
  if (!text.endsWith('\n\n')) throw new Error('the stream ends within an event');
  return text
    .split('\n\n')
    .map((event) =>
      event
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith(':'))
        .flatMap((line) => {
          if (line.startsWith('data: ')) return [line.slice(6)];
          if (line.startsWith('event: ')) return [];
          throw new Error(`no line of an event: ${line.slice(0, 100)}`);
        })
        .join('\n'),
    )
    .filter((data) => data !== '');
};

const empty = (): Read => ({
  text: '',
  calls: [],
  finish: '',
  usage: { input: 0, cached: 0, output: 0 },
});

const chatUsage = (usage: unknown): Read['usage'] => ({
  input: count(member(usage, 'prompt_tokens')),
  cached: count(member(member(usage, 'prompt_tokens_details'), 'cached_tokens')),
  output: count(member(usage, 'completion_tokens')),
});

const FINISHES: Record<string, string> = {
  tool_calls: 'tool-calls',
  end_turn: 'stop',
  max_tokens: 'length',
  tool_use: 'tool-calls',
};

const addChatChoice = (read: Read, choice: Json, message: unknown) => {
  const content = member(message, 'content');
  if (isText(content)) read.text += content;
  for (const [at, call] of objects(member(message, 'tool_calls')).entries()) {
    const index = count(call.index ?? at);
    read.calls[index] ??= { id: String(call.id), name: '', arguments: '' };
    const known = read.calls[index];
    known.name ||= String(member(call.function, 'name') ?? '');
    known.arguments += String(member(call.function, 'arguments') ?? '');
  }
  const finish = choice.finish_reason;
  if (isText(finish)) read.finish = FINISHES[finish] ?? finish;
};

const readChat = (text: string, stream: boolean): Read => {
  const read = empty();
  const bodies = stream ? eventsOf(text) : [text];
  if (stream && bodies.at(-1) !== '[DONE]') throw new Error('the stream has no [DONE]');
  for (const data of bodies.filter((one) => one !== '[DONE]')) {
    const body: unknown = JSON.parse(data);
    if (isObject(member(body, 'usage'))) read.usage = chatUsage(member(body, 'usage'));
    for (const choice of objects(member(body, 'choices'))) {
      addChatChoice(read, choice, choice[stream ? 'delta' : 'message']);
    }
  }
  return read;
};

const messagesUsage = (usage: unknown): Read['usage'] => {
  const cached = count(member(usage, 'cache_read_input_tokens'));
  const written = count(member(usage, 'cache_creation_input_tokens'));
  const input = count(member(usage, 'input_tokens')) + cached + written;
  return { input, cached, output: count(member(usage, 'output_tokens')) };
};

const readWholeMessages = (body: Json): Read => {
  const blocks = objects(body.content);
  const stop = String(body.stop_reason);
  return {
    text: blocks.map(({ type, text }) => (type === 'text' ? String(text) : '')).join(''),
    calls: blocks
      .filter(({ type }) => type === 'tool_use')
      .map(({ id, name, input }) => ({
        id: String(id),
        name: String(name),
        arguments: JSON.stringify(input),
      })),
    finish: FINISHES[stop] ?? stop,
    usage: messagesUsage(body.usage),
  };
};

const readStreamedMessages = (text: string): Read => {
  const read = empty();
  const callAt = new Map<unknown, Read['calls'][number]>();
  for (const data of eventsOf(text)) {
    const event: unknown = JSON.parse(data);
    const block = member(event, 'content_block');
    if (member(block, 'type') === 'tool_use') {
      const call = { id: String(member(block, 'id')), name: String(member(block, 'name')) };
      const begun = { ...call, arguments: '' };
      read.calls.push(begun);
      callAt.set(member(event, 'index'), begun);
    }
    const delta = member(event, 'delta');
    read.text += String(member(delta, 'text') ?? '');
    const call = callAt.get(member(event, 'index'));
    if (call) call.arguments += String(member(delta, 'partial_json') ?? '');
    const stop = member(delta, 'stop_reason');
    if (isText(stop)) {
      read.finish = FINISHES[stop] ?? stop;
      read.usage = messagesUsage(member(event, 'usage'));
    }
  }
  // No delta: the input is the one of the block's start.
  for (const call of read.calls) call.arguments ||= '{}';
  return read;
};

const readEndedResponse = (response: Json): Read => {
  const items = objects(response.output);
  const parts = items.flatMap(({ content }) => objects(content));
  const calls = items
    .filter(({ type }) => type === 'function_call')
    .map(({ call_id, name, arguments: text }) => ({
      id: String(call_id),
      name: String(name),
      arguments: String(text),
    }));
  const cause = member(response.incomplete_details, 'reason');
  const ended = calls.length > 0 ? 'tool-calls' : 'stop';
  return {
    text: parts.map(({ text }) => String(text)).join(''),
    calls,
    finish: cause === 'max_output_tokens' ? 'length' : ended,
    usage: {
      input: count(member(response.usage, 'input_tokens')),
      cached: count(member(member(response.usage, 'input_tokens_details'), 'cached_tokens')),
      output: count(member(response.usage, 'output_tokens')),
    },
  };
};

/** The deltas, which some clients read, and the response at the end, which others read, must agree. */
const readStreamedResponse = (text: string): Read => {
  const events = eventsOf(text).map((data): unknown => JSON.parse(data));
  const deltasOf = (kind: string) =>
    events
      .filter((event) => member(event, 'type') === `response.${kind}.delta`)
      .map((event) => String(member(event, 'delta')))
      .join('');
  const last = member(events.at(-1), 'response');
  const read = readEndedResponse(isObject(last) ? last : {});
  const whole = [read.text, read.calls.map((call) => call.arguments).join('')];
  const streamed = [deltasOf('output_text'), deltasOf('function_call_arguments')];
  if (whole.join('\n') !== streamed.join('\n')) throw new Error('deltas differ from the response');
  return read;
};

const READERS = {
  messages: { whole: readWholeMessages, streamed: readStreamedMessages },
  responses: { whole: readEndedResponse, streamed: readStreamedResponse },
};

/** Reads the answer off its bytes. @throws Error when it is no UTF-8, no 200, or not of the protocol's form. */
export const readResponse = (caller: Caller, { status, body }: Answer, stream: boolean): Read => {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  if (status !== 200) throw new Error(`status ${status}: ${text.slice(0, 500)}`);
  if (text.includes('\ufffd')) throw new Error(`U+FFFD at ${text.indexOf('\ufffd')}`);
  if (caller === 'chat') return readChat(text, stream);
  const { streamed, whole } = READERS[caller];
  if (stream) return streamed(text);
  const parsed: unknown = JSON.parse(text);
  return whole(isObject(parsed) ? parsed : {});
};
