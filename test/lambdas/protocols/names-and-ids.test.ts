import fc from 'fast-check';
import { expect, test } from 'vitest';
import { callerToolNames, wireToolName } from '../../../lambdas/protocols/chat/tool-names.ts';
import { plainToolId, wireToolId } from '../../../lambdas/protocols/messages/ids.ts';
import { requestOf } from '../../support/translate.ts';

const anyId = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', 'functions.Bash:0', 'toolu_x_', 'toolu_x_YQ', 'call_1'),
);

test('a tool-call id comes back from the messages wire as it was, whatever it was', () => {
  fc.assert(
    fc.property(anyId, (id) => {
      expect(wireToolId(id)).toMatch(/^[a-zA-Z0-9_-]+$/);
      expect(plainToolId(wireToolId(id))).toBe(id);
    }),
  );
});

test('different tool-call ids stay different on the messages wire', () => {
  fc.assert(
    fc.property(anyId, anyId, (one, other) => {
      fc.pre(one !== other);
      expect(wireToolId(one)).not.toBe(wireToolId(other));
    }),
  );
});

test('long tool names fit the chat wire, stay different, and are known again in the answer', () => {
  const name = fc.stringMatching(/^[a-zA-Z0-9_-]{60,128}$/);
  fc.assert(
    fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 5 }), (names) => {
      const tools = names.map((each) => ({ name: each, input_schema: { type: 'object' } }));
      const known = callerToolNames(requestOf('messages', { tools }));
      const wire = names.map(wireToolName);
      for (const each of wire) expect(each).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(wire.map(known)).toEqual(names);
    }),
  );
});
