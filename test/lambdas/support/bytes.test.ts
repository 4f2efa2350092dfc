import { expect, test } from 'vitest';
import { sha256Of, sizeOf } from '../../../lambdas/support/bytes.ts';

const TEXT = 'é字😀 text';
const BYTES = Buffer.from(TEXT);

test.each([
  ['bytes', BYTES],
  [
    'pieces, one of which is empty',
    [BYTES.subarray(0, 3), BYTES.subarray(3, 3), BYTES.subarray(3)],
  ],
])('%s have the size and the digest of their text', (_, bytes) => {
  expect(sizeOf(bytes)).toBe(sizeOf(TEXT));
  expect(sha256Of(bytes)).toBe(sha256Of(TEXT));
});
