/** Conversations of agents step by step, and what a provider's cache compares of the requests that the router makes of them. */

import { parseWritten } from '../../lambdas/protocols/bytes/json.ts';
import { FREE, outlineOf } from '../../lambdas/protocols/bytes/outline.ts';
import { splice } from '../../lambdas/protocols/bytes/splice.ts';
import type { GenerationRequest } from '../../lambdas/protocols/generation.ts';
import type {
  CallerHeaders,
  CallerProtocolName,
  UpstreamProtocolName,
  WireTarget,
} from '../../lambdas/protocols/protocol.ts';
import { callerProtocols, upstreamProtocols } from '../../lambdas/protocols/protocols.ts';
import { stripForeignThinking } from '../../lambdas/protocols/thinking/origin.ts';
import type { Bytes } from '../../lambdas/support/bytes.ts';
import { oncePer } from '../../lambdas/support/memo.ts';
import { encodeJson } from '../../lambdas/upstreams/send.ts';
import {
  itemsOf,
  memberOf,
  parseRaw,
  type Raw,
  textOf,
  writeRaw,
} from './caching-provider/raw-json.ts';

type Json = Record<string, unknown>;

/** A question, the calls that the model makes before it answers, and the answer. `arguments` is JSON as it is written. */
export type Exchange = {
  ask: string;
  calls: { id: string; arguments: string; result: string }[];
  answer: string;
};

const ARGUMENTS = '@arguments ';

/** The messages of one exchange; the last one has no answer yet. */
const chatTurns = ({ ask, calls, answer }: Exchange, isOpen: boolean): Json[] => [
  { role: 'user', content: ask },
  ...calls.flatMap(({ id, arguments: args, result }) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: args } }],
    },
    { role: 'tool', tool_call_id: id, content: result },
  ]),
  ...(isOpen ? [] : [{ role: 'assistant', content: answer }]),
];

const messagesTurns = ({ ask, calls, answer }: Exchange, isOpen: boolean): Json[] => [
  { role: 'user', content: ask },
  ...calls.flatMap(({ id, arguments: args, result }) => [
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id, name: 'look', input: ARGUMENTS + args }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: result }] },
  ]),
  ...(isOpen ? [] : [{ role: 'assistant', content: [{ type: 'text', text: answer }] }]),
];

const responsesTurns = ({ ask, calls, answer }: Exchange, isOpen: boolean): Json[] => [
  { role: 'user', content: ask },
  ...calls.flatMap(({ id, arguments: args, result }) => [
    { type: 'function_call', call_id: id, name: 'look', arguments: args },
    { type: 'function_call_output', call_id: id, output: result },
  ]),
  ...(isOpen ? [] : [{ role: 'assistant', content: [{ type: 'output_text', text: answer }] }]),
];

const SYSTEM = 'You are an agent.\nUse "look" before you answer. Größe: 1/2';
const PARAMETERS = { type: 'object', properties: { at: { type: 'number', minimum: 1 } } };
const NAMES = ['look', 'other', 'third'];

/** The request after these exchanges, but for what differs from step to step. */
const BODIES: Record<CallerProtocolName, (turns: Exchange[]) => Json> = {
  chat: (turns) => ({
    messages: [
      { role: 'system', content: SYSTEM },
      ...turns.flatMap((turn, index) => chatTurns(turn, index === turns.length - 1)),
    ],
    tools: NAMES.map((name) => ({ type: 'function', function: { name, parameters: PARAMETERS } })),
  }),
  messages: (turns) => ({
    system: [{ type: 'text', text: SYSTEM }],
    messages: turns.flatMap((turn, index) => messagesTurns(turn, index === turns.length - 1)),
    tools: NAMES.map((name) => ({ name, input_schema: PARAMETERS })),
  }),
  responses: (turns) => ({
    instructions: SYSTEM,
    input: turns.flatMap((turn, index) => responsesTurns(turn, index === turns.length - 1)),
    tools: NAMES.map((name) => ({ type: 'function', name, parameters: PARAMETERS })),
    store: false,
  }),
};

/** What the steps of one conversation may differ in. */
export type Step = {
  /** Members of the body. */
  members: Json;
  isReversed: boolean;
  headers: CallerHeaders;
  isUnmarked: boolean;
  target: WireTarget;
};

const escapeOf = oncePer(
  new Map<string, string>(),
  (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
);

/** The text of a request, with numbers and members of arguments as they are written, and other characters escaped or not. */
const textFor = (from: CallerProtocolName, turns: Exchange[], step: Step, isEscaped: boolean) => {
  const body = { model: 'vendor/model', ...BODIES[from](turns), ...step.members };
  const entries = Object.entries(body);
  const ordered = Object.fromEntries(step.isReversed ? entries.toReversed() : entries);
  const text = JSON.stringify(ordered).replaceAll(
    /"@arguments ((?:[^"\\]|\\.)*)"/g,
    (_, args: string) => JSON.parse(`"${args}"`),
  );
  return isEscaped ? text.replaceAll(/[^\x20-\x7e]/g, escapeOf) : text;
};

const joined = (bytes: Bytes): string =>
  Array.isArray(bytes) ? Buffer.concat(bytes).toString() : bytes.toString();

/** The body that the target is sent, as `upstreams/send.ts` writes it. */
export const sentFor = (
  { from, to }: { from: CallerProtocolName; to: UpstreamProtocolName },
  turns: Exchange[],
  step: Step,
  isEscaped = false,
): string => {
  const text = textFor(from, turns, step, isEscaped);
  const value = parseWritten(text) as Json;
  const { nodes } = outlineOf(text, FREE);
  const source = { raw: text, bytes: Buffer.byteLength(text), nodes, value };
  const decoded: GenerationRequest = {
    ...callerProtocols[from].decodeRequest(value, step.headers),
    ...(step.isUnmarked && { isUnmarked: true as const }),
  };
  const request = stripForeignThinking({ ...decoded, stream: true });
  const { editsOf, encodeRequest } = upstreamProtocols[to];
  const edits = editsOf?.(request, step.target, value);
  return joined(
    edits ? splice(source, edits) : encodeJson(encodeRequest(request, step.target), source),
  );
};

// --- what a cache compares ---

/** The router's own words, at the end of the user's last turn. */
const INSTRUCTION = /<system-reminder>\n(?:Of the tools|Reply with|Call )[^<]*<\/system-reminder>$/;

const contentOf = (message: Raw): string[] => {
  const content = memberOf(message, 'content');
  if (content?.kind !== 'text')
    return itemsOf(content).map((part) => writeRaw(part, 'cache_control'));
  return [`{"type":"text","text":${JSON.stringify(content.text)}}`];
};

/** The last block, or the last message of chat, without the router's words; none if it is nothing else. */
const withoutInstruction = (block: string): string[] => {
  const { text, content = text } = JSON.parse(block.slice(block.indexOf('{')));
  if (typeof content !== 'string' || !INSTRUCTION.test(content)) return [block];
  const own = content.replace(INSTRUCTION, '').replace(/\n\n$/, '');
  return own === '' ? [] : [block.replace(JSON.stringify(content), () => JSON.stringify(own))];
};

/** What is before the conversation, by the member that holds it. */
const promptOf = (raw: Raw): string[] => {
  const parts = memberOf(memberOf(raw, 'systemInstruction'), 'parts');
  const system = memberOf(raw, 'system') ?? memberOf(raw, 'instructions');
  if (parts) return itemsOf(parts).map((part) => writeRaw(part));
  return system ? contentOf({ kind: 'object', members: [['content', system]] }) : [];
};

const turnsIn = (to: UpstreamProtocolName, raw: Raw): string[] => {
  // A message of chat and an item of Responses are blocks.
  if (to === 'chat') return itemsOf(memberOf(raw, 'messages')).map((one) => writeRaw(one));
  if (to === 'responses') return itemsOf(memberOf(raw, 'input')).map((one) => writeRaw(one));
  return itemsOf(memberOf(raw, to === 'gemini' ? 'contents' : 'messages')).flatMap((turn) => {
    const role = textOf(memberOf(turn, 'role'));
    const parts = memberOf(turn, 'parts');
    const blocks = parts ? itemsOf(parts).map((one) => writeRaw(one)) : contentOf(turn);
    return blocks.map((block) => `${role} ${block}`);
  });
};

/** Tools, system and messages in a provider's order, a block each, without marks and without the router's words at the end. */
export const blocksOf = (to: UpstreamProtocolName, body: string): string[] => {
  const raw = parseRaw(body);
  const tools = itemsOf(memberOf(raw, 'tools')).map((tool) => writeRaw(tool, 'cache_control'));
  const turns = turnsIn(to, raw);
  const last = turns.pop() ?? '';
  return [...tools, ...promptOf(raw), ...turns, ...withoutInstruction(last)];
};

/** What a provider's cache is read by besides, where the caller asks for the same. */
const PARAMETERS_READ = ['thinking', 'reasoning', 'reasoning_effort', 'prompt_cache_key'];

/** The first block, or parameter, of a request that a cache with the one before it does not have; undefined if it has all of that. */
export const breakOf = (
  to: UpstreamProtocolName,
  before: string,
  after: string,
): string | undefined => {
  const [old, now] = [before, after].map((body) => blocksOf(to, body));
  const at = (old ?? []).findIndex((block, index) => now?.[index] !== block);
  if (at !== -1) return `${old?.[at]} became ${now?.[at]}`;
  const name = PARAMETERS_READ.find((member) => {
    const [one, other] = [before, after].map((body) => JSON.stringify(JSON.parse(body)[member]));
    return one !== other;
  });
  return name;
};
