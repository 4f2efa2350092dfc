import { expect, test } from 'vitest';
import {
  plainToolId,
  readToolId,
  responseToolId,
  wireToolId,
} from '../../../../lambdas/protocols/messages/ids.ts';
import { upstreamProtocols } from '../../../../lambdas/protocols/protocols.ts';
import { callerToolNames, fittingToolName } from '../../../../lambdas/protocols/tools/names.ts';
import { fc } from '../../../support/seeds.ts';
import { requestOf } from '../../../support/translate.ts';

const anyId = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', 'functions.Bash:0', 'toolu_x_', 'toolu_x_YQ', 'toolu_c_', 'call_1'),
  // What an id that carries fields looks like, made by somebody else.
  fc
    .jsonValue()
    .map((value) => `toolu_c_${Buffer.from(JSON.stringify(value)).toString('base64url')}`),
);
/** Fields that a chat upstream adds to a call; JSON has no -0. */
const fields = fc
  .dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 })
  .map((value): Record<string, unknown> => JSON.parse(JSON.stringify(value)));

test('any tool-call id round-trips through the messages protocol unchanged', () => {
  fc.assert(
    fc.property(anyId, (id) => {
      expect(wireToolId(id)).toMatch(/^[a-zA-Z0-9_-]+$/);
      expect(plainToolId(wireToolId(id))).toBe(id);
    }),
  );
});

test('provider fields of a tool call round-trip in its id', () => {
  fc.assert(
    fc.property(anyId, fields, (id, added) => {
      const call = { id, extras: { protocol: 'chat' as const, fields: added } };
      expect(responseToolId(call)).toMatch(/^[a-zA-Z0-9_-]+$/);
      expect(readToolId(responseToolId(call))).toEqual(call);
      expect(readToolId(wireToolId(id))).toEqual({ id });
    }),
  );
});

test('a carrier id with an unknown protocol is returned unchanged', () => {
  const claim = { id: 'a', extras: { protocol: 'carrier-pigeon', fields: { a: 1 } } };
  const id = `toolu_c_${Buffer.from(JSON.stringify(claim)).toString('base64url')}`;
  expect(readToolId(id)).toEqual({ id });
});

test('different tool-call ids stay different in the messages protocol', () => {
  fc.assert(
    fc.property(anyId, anyId, (one, other) => {
      fc.pre(one !== other);
      expect(wireToolId(one)).not.toBe(wireToolId(other));
    }),
  );
});

test('long tool names become valid chat names, stay different, and are restored in the response', () => {
  const name = fc.stringMatching(/^[a-zA-Z0-9_-]{60,128}$/);
  fc.assert(
    fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 5 }), (names) => {
      const tools = names.map((each) => ({ name: each, input_schema: { type: 'object' } }));
      const known = callerToolNames(requestOf('messages', { tools }));
      const wire = names.map(fittingToolName);
      for (const each of wire) expect(each).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(wire.map(known)).toEqual(names);
    }),
  );
});

test.each([
  {
    toolCallIds: 'short',
    valid: /^[a-zA-Z0-9]{9}$/,
    title: 'short tool-call ids have nine letters and digits',
  },
  {
    toolCallIds: 'limited',
    valid: /^.{1,40}$/s,
    title: 'limited tool-call ids have at most 40 characters',
  },
] as const)('$title, stay different, and match their results', ({ toolCallIds, valid }) => {
  const ids = fc.uniqueArray(
    fc.oneof(
      fc.string({ minLength: 1 }),
      fc.stringMatching(/^[a-zA-Z0-9]{9}$/),
      // What another id of the same list becomes.
      fc.constantFrom('call_0fypS1hVX', '8OUPrhCTK'),
      fc.string({ minLength: 41, maxLength: 80 }),
    ),
    { minLength: 1, maxLength: 8 },
  );
  fc.assert(
    fc.property(ids, (given) => {
      const calls = given.map((id) => ({
        ...{ id, type: 'function' },
        function: { name: 'f', arguments: '{}' },
      }));
      const results = given.map((id) => ({ role: 'tool', tool_call_id: id, content: 'x' }));
      const messages = [{ role: 'assistant', content: null, tool_calls: calls }, ...results];
      const request = requestOf('chat', { messages });
      const target = { model: 'm', maxOutputTokens: 1000, toolCallIds };
      const { messages: wire } = upstreamProtocols.chat.encodeRequest(request, target) as {
        messages: { tool_calls: { id: string }[]; tool_call_id: string }[];
      };
      const called = wire[0]?.tool_calls.map(({ id }) => id) ?? [];
      for (const id of called) expect(id).toMatch(valid);
      expect(new Set(called).size).toBe(given.length);
      expect(wire.slice(1).map(({ tool_call_id: id }) => id)).toEqual(called);
    }),
  );
});
