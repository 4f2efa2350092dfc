import { describe, expect, test } from 'vitest';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { fc } from '../../support/seeds.ts';
import { signedProtocol } from '../../support/signed-protocol.ts';

const TARGET = {
  model: 'vendor/model',
  maxOutputTokens: 1000,
  headers: {
    'anthropic-beta': 'context-management-2025-06-27, thinking-display-updates-2026-08-18',
  },
};
const RUNS = { numRuns: 500 };

const word = fc.stringMatching(/^[a-z]{1,8}$/);
/** Blank texts are left out on the messages wire, so they are not in normal form. */
const text = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((value) => value.trim() !== '');
/** Fields that no codec knows: they must come out where they went in. */
const unknown = fc.dictionary(
  word.map((name) => `zz9_${name}`),
  fc.jsonValue({ maxDepth: 2 }).filter((value) => value !== null),
  { maxKeys: 2 },
);
/** An object of some known fields, each present or not, and some unknown ones. */
const loose = <T extends Record<string, fc.Arbitrary<unknown>>>(
  required: T,
  optional: Record<string, fc.Arbitrary<unknown>> = {},
) =>
  fc
    .tuple(
      fc.record({ ...required, ...optional }, { requiredKeys: Object.keys(required) }),
      unknown,
    )
    .map(([known, extra]) => ({ ...extra, ...known }));

const schema = fc.constant({ type: 'object', properties: { a: { type: 'string' } } });
/** JSON has no -0, and this wire carries arguments as an object. */
const args = fc
  .dictionary(word, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 })
  .map((value): Record<string, unknown> => JSON.parse(JSON.stringify(value)));

/** A list of parts in normal form: one plain text alone is written as a string. */
const partsOr = (part: fc.Arbitrary<object>) =>
  fc.oneof(text, fc.array(part, { minLength: 2, maxLength: 3 }));

const chatWire = () => {
  const textPart = loose({ type: fc.constant('text'), text });
  const imagePart = loose({
    type: fc.constant('image_url'),
    image_url: loose(
      { url: fc.constantFrom('https://a.b/c.png', 'data:image/png;base64,AAAA') },
      { detail: word },
    ),
  });
  const audioPart = fc.constant({
    type: 'input_audio',
    input_audio: { data: 'AAAA', format: 'wav' },
  });
  const user = loose(
    { role: fc.constant('user'), content: partsOr(fc.oneof(textPart, imagePart, audioPart)) },
    { name: word },
  );
  const system = loose({ role: fc.constant('system'), content: text });
  const exchange = fc
    .tuple(
      loose({
        id: text,
        type: fc.constant('function'),
        function: loose({ name: word, arguments: args.map((a) => JSON.stringify(a)) }),
      }),
      text,
      unknown,
    )
    .map(([call, content, extra]) => [
      { role: 'assistant', content: null, tool_calls: [call] },
      { ...extra, role: 'tool', tool_call_id: call.id, content },
    ]);
  const assistant = loose(
    { role: fc.constant('assistant'), content: text },
    { reasoning_content: text, name: word },
  );
  const turns = fc.array(
    fc.oneof(
      user.map((m) => [m]),
      assistant.map((m) => [m]),
      system.map((m) => [m]),
      exchange,
    ),
    { minLength: 1, maxLength: 5 },
  );
  const tool = loose({
    type: fc.constant('function'),
    function: loose(
      { name: word, parameters: schema },
      { description: text, strict: fc.boolean() },
    ),
  });
  return loose(
    {
      model: fc.constant(TARGET.model),
      messages: turns.map((list) => list.flat()),
      stream: fc.constant(false),
    },
    {
      max_tokens: fc.integer({ min: 1, max: 99 }),
      temperature: fc.constantFrom(0, 0.5, 2),
      top_p: fc.constantFrom(0.1, 1),
      stop: fc.array(word, { minLength: 1, maxLength: 4 }),
      tools: fc.uniqueArray(tool, {
        minLength: 1,
        maxLength: 3,
        selector: (t) => JSON.stringify(t.function),
      }),
      response_format: fc.constantFrom(
        { type: 'json_object' },
        { type: 'json_schema', json_schema: { name: 'n', schema: {}, strict: true } },
      ),
      reasoning_effort: fc.constantFrom('low', 'high', 'max'),
      user: word,
      seed: fc.nat(),
      logit_bias: fc.constant({ '1': 2 }),
    },
  );
};

const messagesWire = () => {
  const cache = { cache_control: fc.constant({ type: 'ephemeral' }) };
  const textBlock = loose({ type: fc.constant('text'), text }, cache);
  const image = loose(
    {
      type: fc.constant('image'),
      source: fc.constantFrom(
        { type: 'base64', media_type: 'image/png', data: 'AAAA' },
        { type: 'url', url: 'https://a.b/c.png' },
      ),
    },
    cache,
  );
  const document = loose(
    {
      type: fc.constant('document'),
      source: fc.constantFrom(
        { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
        { type: 'text', media_type: 'text/plain', data: 'words' },
      ),
    },
    { title: text, ...cache },
  );
  const found = fc.constant({
    type: 'search_result',
    title: 't',
    source: 's',
    content: [{ type: 'text', text: 'x' }],
  });
  const user = loose({
    role: fc.constant('user'),
    content: partsOr(fc.oneof(textBlock, image, document, found)),
  });
  const thinking = loose({ type: fc.constant('thinking'), thinking: text, signature: text });
  const redacted = loose({ type: fc.constant('redacted_thinking'), data: text });
  const server = fc.constant({
    type: 'server_tool_use',
    id: 's',
    name: 'web_search',
    input: { q: 1 },
  });
  const reply = loose({
    role: fc.constant('assistant'),
    content: fc.array(fc.oneof(thinking, redacted, server, textBlock), {
      minLength: 2,
      maxLength: 3,
    }),
  });
  const id = fc.stringMatching(/^toolu_[a-z0-9]{1,6}$/);
  const exchange = fc
    .tuple(id, word, args, partsOr(fc.oneof(textBlock, image)), fc.boolean())
    .map(([callId, name, input, content, failed]) => [
      { role: 'assistant', content: [{ type: 'tool_use', id: callId, name, input }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: callId,
            content,
            ...(failed ? { is_error: true } : {}),
          },
          { type: 'text', text: 'go on' },
        ],
      },
    ]);
  const turns = fc
    .array(fc.oneof(fc.tuple(user, reply), exchange), { minLength: 1, maxLength: 3 })
    .map((pairs) => pairs.flat())
    // Consecutive turns of one role are merged, so the wire is in normal form when they alternate.
    .filter((list) => list.every((turn, i) => turn.role !== list[i - 1]?.role))
    // Ids that repeat are made unique.
    .filter((list) => {
      const ids = JSON.stringify(list).match(/"id":"toolu_[^"]*"/g) ?? [];
      return new Set(ids).size === ids.length;
    });
  const tool = loose(
    { name: word, input_schema: schema },
    { description: text, strict: fc.boolean(), ...cache },
  );
  return loose(
    {
      model: fc.constant(TARGET.model),
      messages: turns,
      max_tokens: fc.integer({ min: 1, max: 99 }),
      stream: fc.constant(false),
    },
    {
      system: partsOr(textBlock),
      temperature: fc.constantFrom(0, 0.5, 1),
      top_k: fc.nat(9),
      stop_sequences: fc.array(word, { minLength: 1, maxLength: 6 }),
      tools: fc.uniqueArray(tool, { minLength: 1, maxLength: 3, selector: (t) => t.name }),
      thinking: fc.constantFrom(
        { type: 'disabled' },
        { type: 'adaptive', display: 'updates' },
        { type: 'between_tools' },
      ),
      output_config: fc.constantFrom(
        { effort: 'high' },
        { format: { type: 'json_schema', schema: {} }, x_new: 1 },
      ),
      metadata: fc.constantFrom({ user_id: 'u' }, { user_id: 'u', x_trace: 't' }),
      context_management: fc.constant({ edits: [] }),
    },
  );
};

describe.each([
  ['chat', chatWire()],
  ['messages', messagesWire()],
] as const)('a %s request', (name, wires) => {
  const { decodeRequest } = callerProtocols[name];
  const { encodeRequest } = upstreamProtocols[name];

  test('a valid request reaches an upstream of the same protocol unchanged, unknown fields included', () => {
    fc.assert(
      fc.property(wires as fc.Arbitrary<object>, (wire) => {
        expect(encodeRequest(decodeRequest(wire), TARGET)).toEqual(wire);
      }),
      RUNS,
    );
  });

  test('a valid request reaches an upstream of the other protocol as a valid request of that protocol', () => {
    const otherName = name === 'chat' ? 'messages' : 'chat';
    const other = { ...callerProtocols[otherName], ...upstreamProtocols[otherName] };
    fc.assert(
      fc.property(wires as fc.Arbitrary<{ messages: object[] }>, (wire) => {
        const request = decodeRequest(wire);
        // targetsFor rejects what the other protocol cannot carry.
        fc.pre(
          request.turns.some(({ role }) => role !== 'system') &&
            other.cannotSay(request).length === 0,
        );
        const foreign = JSON.stringify(other.encodeRequest(request, TARGET));
        expect(foreign).not.toMatch(/"zz9_|cache_control|signature/);
        const again = other.decodeRequest(JSON.parse(foreign));
        expect(other.encodeRequest(again, TARGET)).toEqual(JSON.parse(foreign));
      }),
      RUNS,
    );
  });

  test('a valid request reaches an upstream of a third protocol with all its turns', () => {
    fc.assert(
      fc.property(wires as fc.Arbitrary<object>, (wire) => {
        const request = decodeRequest(wire);
        fc.pre(signedProtocol.cannotSay(request).length === 0);
        expect(signedProtocol.encodeRequest(request, TARGET)).toMatchObject({
          input: request.turns.map(({ role, blocks }) => ({ role, blocks })),
          stop: request.stop ?? [],
        });
      }),
      RUNS,
    );
  });
});
