import { describe, expect, test } from 'vitest';
import { PRESETS } from '../../../../lambdas/catalog/profiles.ts';
import type { Profile } from '../../../../lambdas/protocols/profile.ts';
import type { WireTarget } from '../../../../lambdas/protocols/protocol.ts';
import { CALLER_PROTOCOLS } from '../../../../lambdas/protocols/protocol-name.ts';
import { callerProtocols, upstreamProtocols } from '../../../../lambdas/protocols/protocols.ts';
import { checksAll, fc, share } from '../../../support/seeds.ts';
import { blocksOf, breakOf, type Exchange, type Step, sentFor } from '../../../support/steps.ts';
import { WIRES } from '../../../support/wires.ts';

const PAIRS = CALLER_PROTOCOLS.flatMap((from) => WIRES.map((to) => ({ from, to })));

// --- conversations ---

const words = fc
  .constantFrom(
    'go on',
    'naïve "text" \\ here',
    'a/b/c',
    '1849173641234567891',
    '漢字 and 👍',
    ' x ',
  )
  .map((text) => text);
const text = fc.oneof(
  words,
  fc.tuple(words, fc.constantFrom(1, 40, 400)).map(([word, count]) => word.repeat(count)),
);
/** Numbers and members that JavaScript would write in another way. */
const args = fc.constantFrom(
  '{}',
  '{"at": 1.0}',
  '{"10":1,"2":2}',
  '{"at":1849173641234567891,"by":1e3}',
  '{"deep":{"b":[1.50,-0],"a":"ü"}}',
);
/** Of vendors, of routers, repeated, and such as a vendor rejects. */
const id = fc.constantFrom(
  'call_0',
  'toolu_01abc',
  'abcDEF123',
  'call.one',
  'chatcmpl-tool-9',
  'call_0',
);
const exchange: fc.Arbitrary<Exchange> = fc.record({
  ask: text,
  calls: fc.array(fc.record({ id, arguments: args, result: text }), { maxLength: 4 }),
  answer: text,
});

// --- what the router may vary ---

const lessons: fc.Arbitrary<Profile> = fc.record(
  {
    sampling: fc.constant([]),
    forcedTool: fc.constant(false),
    betasWithout: fc.constant(['new-2026-01-01']),
    versionsWithout: fc.constant(['2024-01-01']),
    cacheWithout: fc.constantFrom(['ttl'], ['cache_control'], ['prompt_cache_key']),
    metadata: fc.constant('stored' as const),
    maxTokensField: fc.constant('max_completion_tokens' as const),
  },
  { requiredKeys: [] },
);
const target = (base: Profile): fc.Arbitrary<WireTarget> =>
  fc
    .tuple(lessons, fc.constantFrom('one', 'other'), fc.constantFrom(1_000, 64_000))
    .map(([learned, model, maxOutputTokens]) => ({ ...base, ...learned, model, maxOutputTokens }));

const CHOICES = {
  chat: [
    { tool_choice: 'required' },
    { tool_choice: { type: 'function', function: { name: 'look' } } },
    {
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: {
          mode: 'auto',
          tools: [{ type: 'function', function: { name: 'look' } }],
        },
      },
    },
    { response_format: { type: 'json_object' } },
    { tool_choice: 'auto' },
  ],
  messages: [
    { tool_choice: { type: 'any' } },
    { tool_choice: { type: 'tool', name: 'look' } },
    { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
  ],
  responses: [
    { tool_choice: 'required' },
    {
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [{ type: 'function', name: 'look' }],
      },
    },
    { text: { format: { type: 'json_object' } } },
  ],
};
const CAPS = { chat: 'max_tokens', messages: 'max_tokens', responses: 'max_output_tokens' };

/** Mostly none in `npm test`: each of the long ones takes as much time as 20 short bodies. */
const PADDINGS = checksAll
  ? [0, 70_000, 260_000]
  : [...new Array<number>(6).fill(0), 70_000, 260_000];

const stepOf = (from: keyof typeof CHOICES, base: Profile): fc.Arbitrary<Step> =>
  fc.record({
    members: fc
      .tuple(
        fc.constantFrom<object[]>(...CHOICES[from], {}, {}, {}),
        fc.constantFrom(100, 4_000, 30_000),
        fc.boolean(),
        // Bodies on either side of each size at which a body is written in another way.
        fc.constantFrom(...PADDINGS),
      )
      .map(([choice, cap, stream, padding]) => ({
        ...choice,
        [CAPS[from]]: cap,
        stream,
        ...(padding > 0 && { zz9_new: 'é'.repeat(padding) }),
      })),
    isReversed: fc.boolean(),
    headers: fc.constantFrom({}, { 'anthropic-beta': 'new-2026-01-01' }),
    isUnmarked: fc.boolean(),
    target: target(base),
  });

// --- the law ---

const BASES: Record<string, Profile> = {
  ...PRESETS,
  'no profile': {},
  'marked, of any length': { cacheMarks: '5m', cacheMinimum: 0 },
};

/** Histories that end with each of a conversation's results and questions, without the answers to them. */
const historiesOf = (exchanges: Exchange[]): Exchange[][] =>
  exchanges.flatMap((last, index) =>
    [0, ...last.calls.map((_, at) => at + 1)].map((count) => [
      ...exchanges.slice(0, index),
      { ...last, calls: last.calls.slice(0, count) },
    ]),
  );

let compared = 0;

describe.each(PAIRS)('a $from conversation on a $to target', ({ from, to }) => {
  test('the request of each step begins with the blocks of the step before it, with all that the router may vary', () => {
    const steps = fc.constantFrom(...Object.values(BASES)).chain((base) =>
      fc.record({
        exchanges: fc.array(exchange, { minLength: 1, maxLength: 4 }),
        isEscaped: fc.boolean(),
        steps: fc.array(stepOf(from, base), { minLength: 4, maxLength: 4 }),
      }),
    );
    fc.assert(
      fc.property(steps, ({ exchanges, isEscaped, steps: varied }) => {
        let before: string | undefined;
        for (const [index, history] of historiesOf(exchanges).entries()) {
          const step = varied[index % varied.length] as Step;
          const sent = sentFor({ from, to }, history, step, isEscaped);
          if (before !== undefined) {
            expect(breakOf(to, before, sent)).toBeUndefined();
            expect(blocksOf(to, sent).length).toBeGreaterThan(blocksOf(to, before).length);
          }
          before = sent;
          compared += 1;
        }
      }),
      { numRuns: share(80, 20) },
    );
  });
});

test('the law of the stable prefix compared many steps', () => {
  expect(compared).toBeGreaterThan(share(2_000, 20));
});

// --- what depends on the last turn ---

const TARGET = { model: 'm', maxOutputTokens: 64_000 };
const callsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: `c${at}`, arguments: '{}', result: 'seen' }));
const LOOPS: Exchange[] = [1, 2, 3].map((count) => ({
  ask: 'go on',
  calls: callsOf(count),
  answer: 'done',
}));

test('thinking of a chat caller who sends none back is turned off once in a session, on a model with budgets', () => {
  const step = {
    ...{ isReversed: false, headers: {}, isUnmarked: true },
    target: { ...PRESETS['claude-4.5'], ...TARGET },
  };
  const thinking = historiesOf(LOOPS).map((history, index) => {
    const members = { reasoning_effort: 'high', max_tokens: 11_000 + 1_000 * (index % 4) };
    const sent = sentFor({ from: 'chat', to: 'messages' }, history, { ...step, members });
    return JSON.stringify(JSON.parse(sent).thinking);
  });
  expect(thinking[0]).toBe('{"type":"enabled","budget_tokens":8192}');
  expect(new Set(thinking.slice(1))).toEqual(new Set(['{"type":"disabled"}']));
});

test('an answer that was a prefill keeps its trimmed text in later requests', () => {
  const prefilled = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'Well, ' },
  ];
  const { decodeRequest } = callerProtocols.chat;
  const { encodeRequest } = upstreamProtocols.messages;
  const encode = (messages: object[]): string[] =>
    blocksOf(
      'messages',
      JSON.stringify(encodeRequest(decodeRequest({ model: 'm', messages }), TARGET)),
    );
  const first = encode(prefilled);
  const later = encode([...prefilled, { role: 'user', content: 'and?' }]);
  expect(later.slice(0, first.length)).toEqual(first);
});

test("marks are before the router's own words, which the next request does not repeat", () => {
  const members = { tool_choice: 'required', response_format: { type: 'json_object' } };
  const target = { ...TARGET, cacheMarks: '5m' as const, cacheMinimum: 0, forcedTool: false };
  const step = { ...{ isReversed: false, headers: {}, isUnmarked: false }, members, target };
  const { messages } = JSON.parse(sentFor({ from: 'chat', to: 'messages' }, LOOPS, step));
  const [block, words] = messages.at(-1).content;
  expect(block.cache_control).toEqual({ type: 'ephemeral' });
  expect(words).toEqual({
    type: 'text',
    text: '<system-reminder>\nCall at least one of the tools before you reply.\nReply with one JSON object and nothing else.\n</system-reminder>',
  });
});
