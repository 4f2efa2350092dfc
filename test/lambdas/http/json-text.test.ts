import { expect, test } from 'vitest';
import { parseJsonObject } from '../../../lambdas/http/json-text.ts';
import { ApiError } from '../../../lambdas/support/errors.ts';

test.each([
  ['arrays', '['],
  ['objects', '{"a":'],
])('a million nested %s are refused without a stack overflow', (_, opening) => {
  expect(() => parseJsonObject(`{"a":${opening.repeat(1_000_000)}`)).toThrow(ApiError);
});

const members = (count: number) =>
  `{"a":[{${Array.from({ length: count }, (_, at) => `"${at}":":"`)}},{"b":1}]}`;

test('an object of 10,000 members is taken', () => {
  expect(parseJsonObject(members(10_000)).value).toHaveProperty('a.1.b', 1);
});

test('an object of one more is refused', () => {
  expect(() => parseJsonObject(members(10_001))).toThrow('an object of more than 10,000 members');
});

const elements = (count: number) => `{"a":[${'0,'.repeat(count)}0]}`;

test('a body of 90,000 values is accepted', () => {
  expect(parseJsonObject(elements(90_000)).value).toHaveProperty('a.length', 90_001);
});

test.each([
  ['elements of one array', elements(100_000)],
  ['members of many objects', `{"a":[${`{${'"b":0,'.repeat(9_998)}"b":0},`.repeat(11)}0]}`],
  ['empty objects', `{"a":[${'{},'.repeat(52_000)}0]}`],
])('a body of more than 100,000 values is rejected: %s', (_, text) => {
  expect(() => parseJsonObject(text)).toThrow('more than 100,000 values');
});

test('five megabytes of backslashes and quotes are taken as they are', () => {
  const text = JSON.stringify({ a: '\\"'.repeat(1_250_000) });
  expect(parseJsonObject(text).value).toEqual({ a: '\\"'.repeat(1_250_000) });
});

test('a refusal carries nothing of the input, not even privately', () => {
  expect(() => parseJsonObject('{"prompt":"canary",}')).toThrow(
    expect.objectContaining({ message: 'The request body is not valid JSON.', cause: undefined }),
  );
});
