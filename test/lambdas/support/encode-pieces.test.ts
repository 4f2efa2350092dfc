import { expect, test } from 'vitest';
import { encodePieces } from '../../../lambdas/support/bytes.ts';

test.each([
  ['no character', ''],
  ['ASCII', 'text '.repeat(5_000)],
  ['a few characters of more bytes', `${'text '.repeat(5_000)}é😀字`],
  ['three bytes a character', '字'.repeat(5_000)],
  ['four bytes a pair', '😀'.repeat(5_000)],
  ['half a pair', `a\ud83d${'b\ude00'.repeat(100)}`],
])('a text of %s, whole or in pieces, has the bytes that Buffer.from returns', (_, text) => {
  const bytes = Buffer.from(text);
  expect(Buffer.from(encodePieces([text])).equals(bytes)).toBe(true);
  const pieces = [text.slice(0, 10), '', text.slice(10)];
  for (const size of [undefined, 4_096, bytes.length]) {
    expect(Buffer.from(encodePieces(pieces, size)).equals(bytes)).toBe(true);
  }
});
