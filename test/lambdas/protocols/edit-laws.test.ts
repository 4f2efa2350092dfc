import { describe, expect, test } from 'vitest';
import { spliceText } from '../../../lambdas/protocols/bytes/splice.ts';
import type { WireTarget } from '../../../lambdas/protocols/protocol.ts';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { stripForeignThinking } from '../../../lambdas/protocols/thinking/origin.ts';
import { SHARED } from '../../support/families.ts';
import { chatWire } from '../../support/request-wires/chat.ts';
import { messagesWire } from '../../support/request-wires/messages.ts';
import { MODEL } from '../../support/request-wires/parts.ts';
import { responsesWire } from '../../support/request-wires/responses.ts';
import { fc, share } from '../../support/seeds.ts';

type Json = Record<string, unknown>;

const HEADERS = {
  'anthropic-beta': 'context-management-2025-06-27, thinking-display-updates-2026-08-18',
};
const TARGET: WireTarget = { model: MODEL, maxOutputTokens: 1_000, headers: HEADERS };
/** What a responses target is always asked for. */
const SEALED = { store: false, include: ['reasoning.encrypted_content'] };
const WIRES = {
  chat: chatWire(),
  messages: messagesWire(),
  responses: responsesWire().map((wire) => ({ ...wire, ...SEALED })),
};

/** Reasoning of another service is left out. */
const holdsReasoning = (wire: Json): boolean =>
  Array.isArray(wire.input) && wire.input.some(({ type }) => type === 'reasoning');

/** The members that edits may touch. */
const TOUCHED = {
  chat: [
    ...['*', 'model', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens'],
    ...['temperature', 'top_p', 'top_k', 'frequency_penalty', 'presence_penalty', 'logit_bias'],
    ...['logprobs', 'top_logprobs', 'metadata', 'reasoning_effort', 'user', 'stop'],
    ...['response_format', 'tools', 'functions', 'tool_choice', 'function_call'],
    ...['parallel_tool_calls', 'messages', 'cache_control', 'prompt_cache_key'],
    ...['prompt_cache_options', 'prompt_cache_retention', 'seed', 'n', 'verbosity'],
  ],
  messages: [
    ...['*', 'safeguards', 'model', 'stream', 'max_tokens', 'thinking', 'context_management'],
    ...['temperature', 'top_p', 'top_k', 'output_config', 'output_format', 'container', 'tools'],
    ...['tool_choice', 'stop_sequences', 'messages', 'system', 'cache_control', 'diagnostics'],
  ],
  responses: [
    ...['model', 'stream', 'store', 'include', 'max_output_tokens', 'temperature', 'top_p'],
    ...['parallel_tool_calls', 'reasoning', 'tools', 'tool_choice', 'input', 'prompt_cache_key'],
    ...['user', 'text', 'instructions'],
  ],
};
const ORIGIN = 'aaaaaaaaaaaa';

/** Texts that mean the same JSON, as clients in several languages write it. */
const spelled = fc.constantFrom<((value: unknown) => string)[]>(
  ...[JSON.stringify, (value: unknown) => JSON.stringify(value, undefined, 2)],
  (value) => JSON.stringify(value, undefined, '\t\n'),
);

/** What targets differ in. */
const target: fc.Arbitrary<WireTarget> = fc
  .record(
    {
      sampling: fc.constantFrom(
        [],
        ['temperature' as const],
        ['top_k' as const, 'logprobs' as const],
      ),
      forcedTool: fc.constant(false),
      temperatureWithTopP: fc.constant(false),
      hintsWithout: fc.constant(['user', 'seed', 'n', 'verbosity', 'strict']),
      content: fc.constant('text' as const),
      streamOptions: fc.constant(false),
      schemaWithout: fc.constant(['description', 'x_new', 'properties']),
      thinking: fc.constantFrom(
        [],
        ['adaptive' as const],
        ['enabled' as const, 'disabled' as const],
      ),
      effort: fc.constantFrom([], ['low', 'medium']),
      systemTurns: fc.constantFrom('leading' as const, 'none' as const),
      billingLine: fc.constant(false),
      turns: fc.constant('alternating' as const),
      toolCallIds: fc.constantFrom('short' as const, 'limited' as const),
      reasoningHistory: fc.constantFrom(...(['required', 'refused', 'reasoning'] as const)),
      maxTokensField: fc.constantFrom('max_tokens' as const, 'max_completion_tokens' as const),
      headers: fc.constant({}),
    },
    { requiredKeys: [] },
  )
  .chain((profile) =>
    fc
      .record({
        model: fc.constantFrom(MODEL, 'other'),
        maxOutputTokens: fc.constantFrom(5, 1_000),
      })
      .map((own) => ({ ...TARGET, ...profile, ...own })),
  );

/** Replaces signatures with those that the router gives to thinking of several origins. */
const seal = (wire: object): Json =>
  JSON.parse(
    JSON.stringify(wire).replaceAll(/"(signature|data)":"([a-z]+)"/g, (all, name, text) =>
      text.length % 3 === 0
        ? all
        : `"${name}":"mrs1.${text.length % 3 === 1 ? ORIGIN : 'bbbbbbbbbbbb'}.${text}"`,
    ),
  );

describe.each(SHARED)('a %s request for an upstream of its protocol', (name) => {
  const { decodeRequest } = callerProtocols[name];
  const { editsOf, encodeRequest } = upstreamProtocols[name];
  const wires = WIRES[name] as fc.Arbitrary<object>;

  test('a request is sent as it was received if no edit is due', () => {
    fc.assert(
      fc.property(wires, spelled, (wire, spell) => {
        const text = spell(wire);
        const received: Json = JSON.parse(text);
        fc.pre(!holdsReasoning(received));
        const edits = editsOf?.(decodeRequest(received), TARGET, received) ?? [];
        expect(spliceText(text, edits)).toBe(text);
      }),
      { numRuns: share(500) },
    );
  });

  test('a request has only edits of listed paths, and means what its canonical form means for any target', () => {
    const listed = new Set<unknown>(TOUCHED[name]);
    fc.assert(
      fc.property(wires, spelled, target, fc.boolean(), (wire, spell, to, stream) => {
        const text = spell({ ...seal(wire), stream });
        const received: Json = JSON.parse(text);
        const request = stripForeignThinking(decodeRequest(received), ORIGIN);
        const edits = editsOf?.(request, to, received) ?? [];
        for (const { path } of edits) expect(listed).toContain(path[0]);
        // Both in the normal form of the protocol, which joins turns and texts.
        const normal = (sent: unknown) =>
          encodeRequest(decodeRequest(sent), { ...TARGET, model: to.model });
        const spliced: Json = JSON.parse(spliceText(text, edits));
        expect(normal(spliced)).toEqual(normal(encodeRequest(request, to)));
        expect(spliced.model).toBe(to.model);
      }),
      { numRuns: share(500) },
    );
  });
});
