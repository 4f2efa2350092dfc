import { describe, expect, test } from 'vitest';
import { parseJsonObject } from '../../../lambdas/http/read-body.ts';
import { set, splice } from '../../../lambdas/protocols/bytes/splice.ts';
import { ApiError } from '../../../lambdas/support/errors.ts';
import { fc } from '../../support/seeds.ts';

const object = (count: number) => `{${Array.from({ length: count }, (_, at) => `"${at}":":"`)}}`;

const members = (count: number) => `{"a":[${object(count)},{"b":1}]}`;

const elements = (count: number) => `{"a":[${'0,'.repeat(count)}0]}`;

const levels = (count: number) => `{"a":${'['.repeat(count - 1)}${']'.repeat(count - 1)}}`;

const read = (text: string) => parseJsonObject(text, text.length).value;

describe('a body', () => {
  test.each([
    ['arrays', '['],
    ['objects', '{"a":'],
  ])('a million nested %s are refused without a stack overflow', (_, opening) => {
    expect(() => read(`{"a":${opening.repeat(1_000_000)}`)).toThrow(ApiError);
  });

  test('64 levels are taken, one more is refused', () => {
    expect(read(levels(64))).toHaveProperty('a');
    expect(() => read(levels(65))).toThrow('nested deeper than 64 levels');
    expect(() => read(levels(100_000))).toThrow('nested deeper than 64 levels');
  });

  test('an object of 10,000 members is taken', () => {
    expect(read(members(10_000))).toHaveProperty('a.1.b', 1);
  });

  test('an object of one more is refused', () => {
    expect(() => read(members(10_001))).toThrow('an object of more than 10,000 members');
  });

  test('a body of 90,000 values is accepted', () => {
    expect(read(elements(90_000))).toHaveProperty('a.length', 90_001);
  });

  test.each([
    ['elements of one array', elements(100_000)],
    ['members of many objects', `{"a":[${`${object(9_999)},`.repeat(11)}0]}`],
    ['empty objects', `{"a":[${'{},'.repeat(52_000)}0]}`],
  ])('more than 100,000 values are rejected: %s', (_, text) => {
    expect(() => read(text)).toThrow('more than 100,000 values');
  });
});

test('five megabytes of backslashes and quotes are taken as they are', () => {
  const text = JSON.stringify({ a: '\\"'.repeat(1_250_000) });
  expect(read(text)).toEqual({ a: '\\"'.repeat(1_250_000) });
});

test('a refusal carries nothing of the input, not even privately', () => {
  expect(() => read('{"prompt":"canary",}')).toThrow(
    expect.objectContaining({ message: 'The request body is not valid JSON.', cause: undefined }),
  );
});

/** What is read of a body and what an edit of it gives, or why it is refused. */
const outcomeOf = (raw: string | Buffer): unknown => {
  try {
    const source = parseJsonObject(raw, raw.length);
    const edited = splice(source, [set(['messages', 1, 'b'], 'ö'), set(['added'], 1)]);
    const sent = Array.isArray(edited) ? Buffer.concat(edited).toString() : edited.toString();
    return { value: JSON.stringify(source.value), removed: source.removed, sent };
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
};

/** Strings of all lengths and escapes, some of which cross the places where a large body is read in parts. */
const text = fc
  .array(
    fc.constantFrom(
      'a',
      'é',
      '𝄞',
      '"',
      '\\',
      '\\"',
      '{',
      ']',
      'x'.repeat(3_000),
      'ü'.repeat(21_000),
    ),
    { maxLength: 9 },
  )
  .map((parts) => parts.join(''));
const message = fc.oneof(
  fc.record({ a: text, b: text, c: fc.jsonValue() }, { requiredKeys: ['b'] }),
  fc.constantFrom({}, 1.5, null, 'a', []),
);
const large = fc
  .record({ system: text, messages: fc.array(message, { minLength: 2, maxLength: 12 }), n: text })
  .map((body) => JSON.stringify(body).replace('1.5', '18446744073709551616'));
/** A place of a text, where signs replace as many as `gone`. */
const damage = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  gone: fc.integer({ min: 0, max: 2 }),
  signs: fc.constantFrom('', '{}', '[', ']', '}', ',', '"', '1', ':', ',"messages":[{}]', ' \n'),
});

test('a body is read, edited and refused alike as bytes and as text, whole and damaged', () => {
  const seen = { read: 0, refused: 0 };
  fc.assert(
    fc.property(large, fc.option(damage), (whole, damaged) => {
      const { at, gone, signs } = damaged ?? { at: 0, gone: 0, signs: '' };
      const place = Math.floor(at * whole.length);
      // Bytes cannot hold half of a pair.
      const body = (whole.slice(0, place) + signs + whole.slice(place + gone)).toWellFormed();
      const expected = outcomeOf(body);
      expect(outcomeOf(Buffer.from(body))).toEqual(expected);
      seen[typeof expected === 'string' ? 'refused' : 'read'] += 1;
    }),
    { numRuns: 400, seed: 31 },
  );
  expect(Math.min(seen.read, seen.refused)).toBeGreaterThan(50);
});

test.each([
  ['a list between two numbers', (list: string) => `{"a":1${list}2}`],
  ['a list behind the body', (list: string) => `{"a":1}${list}`],
  ['a list without its end', (list: string) => `{"a":${list.slice(0, -1)}`],
  ['items without a comma', (list: string) => `{"a":${list.replaceAll('},', '}')}}`],
  ['a number before an item', (list: string) => `{"a":${list.replace('[{', '[1{')}}`],
  ['a comma behind the last item', (list: string) => `{"a":${list.replace(/]$/, ',]')}}`],
])('a large body is no JSON with %s', (_, write) => {
  const list = JSON.stringify(Array.from({ length: 100 }, () => ({ a: 'x'.repeat(1_000) })));
  expect(outcomeOf(Buffer.from(`{"a":${list}}`))).toHaveProperty('sent');
  expect(outcomeOf(Buffer.from(write(list)))).toBe('The request body is not valid JSON.');
});

test('of a name that a large body repeats the last value counts', () => {
  const list = (letter: string) => JSON.stringify(Array(50).fill({ a: letter.repeat(1_000) }));
  for (const [first, last] of [
    [list('x'), list('y')],
    [list('x'), '[{"a":"y"}]'],
    ['[]', list('y')],
  ]) {
    const body = `{"messages":${first},"messages":${last}}`;
    const { value } = parseJsonObject(Buffer.from(body), body.length);
    expect(value).toEqual({ messages: JSON.parse(last ?? '') });
    expect(outcomeOf(Buffer.from(body))).toEqual(outcomeOf(body));
  }
});
