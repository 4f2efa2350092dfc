import { describe, expect, test } from 'vitest';
import { parseJsonObject } from '../../../lambdas/http/json-text.ts';
import { ApiError } from '../../../lambdas/support/errors.ts';

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
