/** Steps of a session share their beginnings, of which the router reads and computes only what is new. */
import { expect, test } from 'vitest';
import { createBodyCache } from '../../../lambdas/http/body-cache.ts';
import { parseJsonObject } from '../../../lambdas/http/read-body.ts';
import { asRecord, type JsonSource } from '../../../lambdas/protocols/bytes/json.ts';
import { splice } from '../../../lambdas/protocols/bytes/splice.ts';
import { assertConsistent } from '../../../lambdas/protocols/ledger/assert-consistent.ts';
import type { WireTarget } from '../../../lambdas/protocols/protocol.ts';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { stripForeignThinking } from '../../../lambdas/protocols/thinking/origin.ts';
import { encodeJson } from '../../../lambdas/upstreams/send.ts';
import { fc, share } from '../../support/seeds.ts';

type Json = Record<string, unknown>;

/** Makes a body large enough to be kept. */
const LONG = 'Read before you write. '.repeat(500);
const ORIGINS = ['aaaaaaaaaaaa', 'bbbbbbbbbbbb'];
const signed = (origin: number) => `mrs1.${ORIGINS[origin]}.c2lnbmVk`;

/** Messages of the messages protocol: some need an edit, a repair, or are a 400. */
const PARTS: ((number: number) => Json[])[] = [
  (number) => [{ role: 'user', content: `Question ${number}` }],
  (number) => [
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'I look.', signature: signed(number % 2) },
        { type: 'tool_use', id: `toolu_${number}`, name: 'look', input: { at: number } },
      ],
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: `toolu_${number}`, content: 'ok' }],
    },
  ],
  (number) => [{ role: 'system', content: `Remember ${number}` }],
  () => [
    {
      role: 'user',
      content: [
        { type: 'text', text: ' ', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: 'a', note: null },
      ],
    },
  ],
  () => [
    { role: 'assistant', content: [{ type: 'tool_use', id: 'call:1', name: 'look', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call:1', content: '' }] },
  ],
  () => [
    { role: 'assistant', content: [{ type: 'tool_use', id: 'lost', name: 'look', input: {} }] },
  ],
  () => [{ role: 'user', content: 5 }],
];

const CHAT_PARTS: ((number: number) => Json[])[] = [
  (number) => [{ role: 'user', content: `Question ${number}` }],
  (number) => [
    {
      role: 'assistant',
      content: null,
      reasoning_content: 'I look.',
      tool_calls: [
        {
          id: `call_${number}`,
          type: 'function',
          function: { name: 'look', arguments: `{"at":${number}}` },
        },
      ],
    },
    {
      role: 'tool',
      tool_call_id: `call_${number}`,
      content: [
        { type: 'text', text: 'o' },
        { type: 'text', text: 'k' },
      ],
    },
  ],
  (number) => [{ role: 'developer', content: `Remember ${number}` }],
  () => [
    {
      role: 'user',
      content: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }],
      name: null,
    },
  ],
  () => [
    { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } },
    { role: 'function', name: 'look', content: 'ok' },
  ],
  () => [{ role: 'tool', tool_call_id: 'lost', content: 'x' }],
  () => [{ role: 'user', content: 5 }],
];

/** Items of Responses, of which several may make one turn. */
const ITEMS: ((number: number) => Json[])[] = [
  (number) => [{ role: number % 2 ? 'user' : 'assistant', content: `Part ${number}` }],
  (number) => [
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'I look.' }] },
    { role: 'assistant', content: 'I look.' },
    { type: 'function_call', call_id: `call_${number}`, name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: `call_${number}`, output: 'ok' },
  ],
  () => [{ type: 'function_call', call_id: 'named', name: 'look', arguments: '{}' }],
  () => [{ type: 'function_call_output', name: 'look', output: 'of the oldest' }],
  () => [
    {
      type: 'local_shell_call',
      id: 'sh_1',
      call_id: 'sh',
      action: { type: 'exec', command: ['ls'] },
    },
  ],
  () => [{ type: 'local_shell_call_output', id: 'sh_1', output: 'ok' }],
  () => [{ type: 'web_search_call', id: 'ws_1', status: 'completed' }],
];

const FROM = { messages: PARTS, chat: CHAT_PARTS, responses: ITEMS };
type From = keyof typeof FROM;

type Taker = {
  to: 'messages' | 'chat' | 'responses';
  thinkingFrom: string;
  profile: Partial<WireTarget>;
};
/** What is kept of one step must not be used for a target of other rules. */
const TARGETS: [Taker, ...Taker[]] = [
  { to: 'messages', thinkingFrom: 'aaaaaaaaaaaa', profile: {} },
  {
    to: 'messages',
    thinkingFrom: 'bbbbbbbbbbbb',
    profile: { systemTurns: 'leading', billingLine: false },
  },
  { to: 'chat', thinkingFrom: '', profile: {} },
  { to: 'chat', thinkingFrom: '', profile: { content: 'text', reasoningHistory: 'refused' } },
  { to: 'responses', thinkingFrom: '', profile: {} },
];

type Step = { kind: number; keep: number; isOther: boolean; system: number; target: number };

/** Each step keeps the beginning of the one before it, often all of it. */
const steps = fc.array(
  fc.record({
    kind: fc.oneof({ weight: 5, arbitrary: fc.nat(1) }, { weight: 1, arbitrary: fc.nat(6) }),
    keep: fc.oneof({ weight: 6, arbitrary: fc.constant(99) }, { weight: 1, arbitrary: fc.nat(6) }),
    isOther: fc.boolean(),
    system: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat(4) }),
    target: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat(4) }),
  }),
  { minLength: 3, maxLength: 12 },
);

/** Some differ in each step, as one with the time does. */
const systemOf = (kind: number, step: number): unknown =>
  [
    [{ type: 'text', text: 'You are an agent.' }],
    'You are another.',
    undefined,
    [{ type: 'text', text: `It is ${step} o'clock.`, cache_control: { type: 'ephemeral' } }],
    `x-anthropic-billing-header: cch=${step};\nYou are an agent.`,
  ][kind];

const SCHEMA = { type: 'object' };
const TOOLS = {
  messages: [{ name: 'look', input_schema: SCHEMA }],
  chat: [{ type: 'function', function: { name: 'look', parameters: SCHEMA } }],
  responses: [{ type: 'function', name: 'look', parameters: SCHEMA }],
};

const bodiesOf = (from: From, session: Step[]): Buffer[] => {
  let messages: Json[] = [{ role: 'user', content: LONG }];
  const name = from === 'responses' ? 'input' : 'messages';
  return session.map(({ kind, keep, isOther, system }, index) => {
    const added = FROM[from][kind]?.(isOther ? index : 7 * index) ?? [];
    messages = [...messages.slice(0, Math.max(1, keep)), ...added];
    const heads = {
      messages: { max_tokens: 100, system: systemOf(system, index) },
      chat: {},
      responses: { instructions: ['You are an agent.', 'You are another.'][system] },
    };
    const body = { model: 'm', [name]: messages, ...heads[from], tools: TOOLS[from], end: LONG };
    return Buffer.from(JSON.stringify(body));
  });
};

/** What a target is sent, and what it is said not to get; or the caller's error. */
const outcomeOf = (from: From, source: JsonSource, number: number) => {
  const [first] = TARGETS;
  const { to, thinkingFrom, profile } = TARGETS[number] ?? first;
  const target = { model: 'vendor', maxOutputTokens: 1_000, ...profile } as WireTarget;
  const received = asRecord(source.value) ?? {};
  try {
    const request = callerProtocols[from].decodeRequest(received, {});
    assertConsistent(request);
    const own = { ...request, thinkingFrom };
    const lost = upstreamProtocols[to].losses(own, target, received);
    const sent = stripForeignThinking({ ...own, stream: true });
    const edits = upstreamProtocols[to].editsOf?.(sent, target, received);
    const bytes = edits
      ? splice(source, edits)
      : encodeJson(upstreamProtocols[to].encodeRequest(sent, target), source);
    return { lost, sent: [bytes].flat().map(String).join('') };
  } catch (error) {
    return { error: String(error) };
  }
};

test.each(['messages', 'chat', 'responses'] as const)(
  'each step of a session of %s is sent as it would be by a process that has seen none before it',
  (from) => {
    fc.assert(
      fc.property(steps, (session) => {
        const bodies = createBodyCache()('key');
        for (const [index, raw] of bodiesOf(from, session).entries()) {
          const target = session[index]?.target ?? 0;
          const kept = outcomeOf(
            from,
            parseJsonObject(raw, raw.length, { bodies: () => bodies }),
            target,
          );
          expect(kept).toEqual(outcomeOf(from, parseJsonObject(raw, raw.length), target));
        }
      }),
      { numRuns: share(1_000) },
    );
  },
);
