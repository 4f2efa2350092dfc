import { describe, expect, test } from 'vitest';
import type { AnswerBlock, GenerationRequest } from '../../../lambdas/protocols/generation.ts';
import { CALLER_PROTOCOLS } from '../../../lambdas/protocols/protocol-name.ts';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { stripForeignThinking } from '../../../lambdas/protocols/thinking/origin.ts';
import { FAMILIES, SHARED } from '../../support/families.ts';
import { chatWire } from '../../support/request-wires/chat.ts';
import { messagesWire } from '../../support/request-wires/messages.ts';
import { args, MODEL, text } from '../../support/request-wires/parts.ts';
import { responsesWire } from '../../support/request-wires/responses.ts';
import { fc, share } from '../../support/seeds.ts';
import { VENDORS } from '../../support/strict-upstream/vendors.ts';
import { thirdProtocol } from '../../support/third-protocol.ts';
import { LABEL } from '../../support/translate.ts';
import { WIRES } from '../../support/wires.ts';

const TARGET = {
  model: MODEL,
  maxOutputTokens: 1000,
  headers: {
    'anthropic-beta': 'context-management-2025-06-27, thinking-display-updates-2026-08-18',
  },
};
const ORIGIN = 'aaaaaaaaaaaa';
const RUNS = { numRuns: share(500) };

const wires = { chat: chatWire(), messages: messagesWire(), responses: responsesWire() };

const isAsked = ({ turns }: GenerationRequest): boolean =>
  turns.some(({ role }) => role !== 'system');

describe.each(FAMILIES)('a %s request', (name) => {
  test('a valid request reaches an upstream of the same protocol unchanged, unknown fields included', () => {
    const { decodeRequest } = callerProtocols[name];
    const { encodeRequest } = upstreamProtocols[name];
    fc.assert(
      fc.property(wires[name] as fc.Arbitrary<object>, (wire) => {
        expect(encodeRequest(decodeRequest(wire), TARGET)).toEqual(wire);
      }),
      RUNS,
    );
  });
});

const PAIRS = CALLER_PROTOCOLS.flatMap((from) =>
  SHARED.flatMap((to) => (from === to ? [] : [{ from, to }])),
);

test.each(PAIRS)(
  'a valid $from request reaches an upstream of $to as a valid request of that protocol',
  ({ from, to }) => {
    const { decodeRequest } = callerProtocols[to];
    const { cannotSay, encodeRequest } = upstreamProtocols[to];
    fc.assert(
      fc.property(wires[from] as fc.Arbitrary<object>, (wire) => {
        const request = stripForeignThinking(callerProtocols[from].decodeRequest(wire), ORIGIN);
        // targetsFor rejects what the other protocol cannot carry.
        fc.pre(isAsked(request) && cannotSay(request).length === 0);
        const foreign = JSON.stringify(encodeRequest(request, TARGET));
        expect(foreign).not.toMatch(/"zz9_|cache_control|signature|"encrypted_content|namespace/);
        const again = decodeRequest(JSON.parse(foreign));
        expect(encodeRequest(again, TARGET)).toEqual(JSON.parse(foreign));
      }),
      RUNS,
    );
  },
);

/** What the caller made up: details, ids (which a profile shortens), JSON that no message asks for; a member of open models. */
const MADE_UP = /\.detail: |\.reasoning_content: |must have 1 to 40 characters|the word 'json'/;

test.each(
  CALLER_PROTOCOLS.flatMap((from) => WIRES.flatMap((to) => (from === to ? [] : [{ from, to }]))),
)('a valid $from request is one that the vendor of a $to upstream accepts', ({ from, to }) => {
  const { cannotSay, encodeRequest } = upstreamProtocols[to];
  fc.assert(
    fc.property(wires[from] as fc.Arbitrary<object>, (wire) => {
      const request = stripForeignThinking(callerProtocols[from].decodeRequest(wire), ORIGIN);
      fc.pre(isAsked(request) && cannotSay(request).length === 0);
      const sent = JSON.parse(JSON.stringify(encodeRequest(request, TARGET)));
      const rejections = VENDORS[to].rejections(sent);
      expect(rejections.filter((text) => !MADE_UP.test(text))).toEqual([]);
    }),
    { numRuns: 100 },
  );
});

test.each(CALLER_PROTOCOLS)(
  'a valid %s request reaches an upstream of a third protocol with all its turns',
  (name) => {
    fc.assert(
      fc.property(wires[name] as fc.Arbitrary<object>, (wire) => {
        // It has none.
        const request = callerProtocols[name].decodeRequest({ ...wire, tools: undefined });
        expect(thirdProtocol.encodeRequest(request, TARGET)).toMatchObject({
          input: request.turns.map(({ role, blocks }) => ({ role, blocks })),
          stop: request.stop ?? [],
        });
      }),
      RUNS,
    );
  },
);

const TOOLS = [
  { type: 'function', name: 'read' },
  { type: 'custom', name: 'patch' },
  { type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'list' }] },
];

/** Blocks of a model's response to a request with those tools. */
const answerBlocks = (): fc.Arbitrary<AnswerBlock[]> => {
  const call = fc.oneof(
    fc.record({
      name: fc.constantFrom('read', 'files__list'),
      arguments: args.map((value) => JSON.stringify(value)),
    }),
    fc.record({
      name: fc.constant('patch'),
      arguments: text.map((input) => JSON.stringify({ input })),
    }),
  );
  const extras = { protocol: 'chat', fields: { extra_content: { google: 'signed' } } } as const;
  const typed = <T extends string>(type: T) => ({ type: fc.constant(type) });
  const block: fc.Arbitrary<AnswerBlock> = fc.oneof(
    fc.record({ ...typed('text'), text }),
    fc.record({ ...typed('text'), text, refusal: fc.constant<true>(true) }),
    fc.record({ ...typed('thinking'), text, signature: text }),
    fc.record({
      ...typed('thinking'),
      text: fc.constant(''),
      signature: text,
      redacted: fc.constant<true>(true),
    }),
    fc
      .tuple(fc.record({ ...typed('tool-call'), id: fc.uuid() }), call, fc.boolean())
      .map(([head, called, isSigned]) => ({ ...head, ...called, ...(isSigned && { extras }) })),
  );
  return fc.array(block, { minLength: 1, maxLength: 6 });
};

test('a responses response of any blocks is the same turn when its items are sent back', () => {
  const { decodeRequest, encodeResponse } = callerProtocols.responses;
  const request = decodeRequest({ model: MODEL, input: 'hi', tools: TOOLS });
  fc.assert(
    fc.property(answerBlocks(), (blocks) => {
      const generation = { blocks, reason: { unified: 'stop' }, usage: undefined } as const;
      const { output } = encodeResponse(generation, request, LABEL);
      const { turns } = decodeRequest({ model: MODEL, input: output, tools: TOOLS });
      expect(turns).toEqual([{ role: 'assistant', blocks }]);
    }),
    RUNS,
  );
});
