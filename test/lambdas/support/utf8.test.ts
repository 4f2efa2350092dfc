import { expect, test } from 'vitest';
import { toUtf8 } from '../../../lambdas/support/utf8.ts';

test.each([
  ['no character', ''],
  ['ASCII', 'text '.repeat(5_000)],
  ['a few characters of more bytes', `${'text '.repeat(5_000)}é😀字`],
  ['three bytes a character', '字'.repeat(5_000)],
  ['four bytes a pair', '😀'.repeat(5_000)],
  ['half a pair', `a\ud83d${'b\ude00'.repeat(100)}`],
])('a text of %s has the bytes that Buffer.from returns', (_, text) => {
  expect(toUtf8(text).equals(Buffer.from(text))).toBe(true);
});
