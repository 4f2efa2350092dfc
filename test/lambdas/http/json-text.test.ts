import { expect, test } from 'vitest';
import { parseJsonObject } from '../../../lambdas/http/json-text.ts';
import { ApiError } from '../../../lambdas/support/errors.ts';

test.each([
  ['arrays', '['],
  ['objects', '{"a":'],
])('a million nested %s are refused without a stack overflow', (_, opening) => {
  expect(() => parseJsonObject(`{"a":${opening.repeat(1_000_000)}`)).toThrow(ApiError);
});

test('five megabytes of backslashes and quotes take linear time', () => {
  const text = JSON.stringify({ a: '\\"'.repeat(1_250_000) });
  expect(parseJsonObject(text)).toEqual({ a: '\\"'.repeat(1_250_000) });
});

test('a refusal carries nothing of the input, not even privately', () => {
  expect(() => parseJsonObject('{"prompt":"canary",}')).toThrow(
    expect.objectContaining({ message: 'The request body is not valid JSON.', cause: undefined }),
  );
});
