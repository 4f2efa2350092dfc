import { describe, expect, test } from 'vitest';
import { callerProtocols } from '../../../lambdas/protocols/protocols.ts';
import {
  exactOptional,
  list,
  literal,
  looseObject,
  number,
  object,
  optional,
  parse,
  readIfValid,
  string,
  typed,
  union,
} from '../../../lambdas/support/schema.ts';
import type { Family } from '../../support/families.ts';

const GOOD = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };

const errorOf = (family: Family, body: unknown): unknown => {
  try {
    return callerProtocols[family].decodeRequest(body);
  } catch (error) {
    return error instanceof Error ? error.message : error;
  }
};

describe.each(['chat', 'messages'] as const)('a body of %s is refused with', (family) => {
  test.each([
    [{ model: undefined }, 'model: is required.'],
    [{ model: '' }, 'model: must have at least 1 character.'],
    [{ model: 7 }, 'model: must be a string.'],
    [{ messages: undefined }, 'messages: is required.'],
    [{ messages: [] }, 'messages: must have at least 1 item.'],
    [{ messages: {} }, 'messages: must be an array.'],
    [
      { messages: [{ role: 'user', content: 7 }] },
      'messages.0.content: must be a string or an array.',
    ],
    [{ stream: 'yes' }, 'stream: must be a boolean.'],
    [{ max_tokens: 1.5 }, 'max_tokens: must be an integer.'],
    [{ temperature: -1 }, 'temperature: must be at least 0.'],
  ])('what is wrong with %o', (change, message) => {
    expect(errorOf(family, { ...GOOD, ...change })).toBe(message);
  });

  test('what it must be, where it is no object', () => {
    expect(errorOf(family, 'hi')).toBe('The body must be an object.');
  });

  test('nothing of what a validator calls it', () => {
    const bodies = [
      null,
      [],
      {},
      { ...GOOD, tools: [{}] },
      { ...GOOD, tool_choice: { type: 'x' } },
    ];
    for (const body of bodies) expect(errorOf(family, body)).not.toMatch(/Invalid|received|>=/);
  });
});

describe('a schema', () => {
  test('of a loose object returns the object that it was given if every member is valid as it is', () => {
    const value = { name: 'x', more: 1 };
    expect(readIfValid(looseObject({ name: string }), value)).toBe(value);
  });

  test('of a loose object does not change the object whose null it reads as absent', () => {
    const value = { name: null, more: 1 };
    const read = readIfValid(looseObject({ name: optional(string) }), value);
    expect(read).toEqual({ name: undefined, more: 1 });
    expect(value.name).toBeNull();
  });

  test('of a list returns the list that it was given if every item is valid as it is', () => {
    const schema = list(looseObject({ name: optional(string) }));
    const value = [{ name: 'x' }, {}];
    expect(readIfValid(schema, value)).toBe(value);
    expect(readIfValid(schema, [...value, { name: null }])).toEqual([...value, {}]);
  });

  test('of objects of several types reads each as its type has it, and keeps those of others whole', () => {
    const schema = list(typed({ text: looseObject({ type: literal('text'), text: string }) }));
    const [text, other] = [
      { type: 'text', text: 'x' },
      { type: 'new', text: 7 },
    ];
    expect(readIfValid(schema, [text, other])).toEqual([text, { type: 'other', value: other }]);
    expect(() => parse(schema, [text, { text: 'x' }], 'A list')).toThrow('1.type is required');
  });

  test('of an object drops members that are not listed, and adds none that is absent', () => {
    const schema = object({ name: string, size: exactOptional(number) });
    expect(Object.entries(readIfValid(schema, { name: 'x', more: 1 }) ?? {})).toEqual([
      ['name', 'x'],
    ]);
    expect(readIfValid(schema, { name: 'x', size: null })).toBeUndefined();
  });

  test('of a union reports the branch that the type selects, not the first or the deepest one', () => {
    const Text = looseObject({ type: literal('text'), text: string });
    const Image = looseObject({ type: literal('image'), source: looseObject({ url: string }) });
    const schema = list(union([Image, Text]));
    const value = [
      { type: 'text', text: 'x' },
      { type: 'text', source: { url: 7 } },
    ];
    expect(() => parse(schema, value, 'A list')).toThrow('A list is not valid: 1.text is required');
  });

  test('of stored fields names all that are wrong', () => {
    const schema = object({ name: string, size: number });
    expect(() => parse(schema, { size: 'x' }, 'An item')).toThrow(
      'An item is not valid: name is required, size must be a number',
    );
  });
});
