import { expect, test } from 'vitest';
import { pooled } from '../../../lambdas/support/ids.ts';

const SIZES = [18, 18, 1_000, 0, 18, 5_000, 1_024, 1];

test('a pool of random bytes returns the bytes of its source in order and each of them once', () => {
  const reads: number[] = [];
  let read = 0;
  const take = pooled((size) => {
    reads.push(size);
    return Uint8Array.from({ length: size }, () => read++ % 251);
  });
  const taken = SIZES.map((size) => [...take(size)]);
  expect(taken.map((bytes) => bytes.length)).toEqual(SIZES);
  for (const bytes of taken) {
    const [first = 0] = bytes;
    expect(bytes).toEqual(bytes.map((_, index) => (first + index) % 251));
  }
  expect(reads.length).toBeLessThan(SIZES.length);
});

test('a pool of random bytes gives no byte to two callers, also when the first one changes its own', () => {
  const take = pooled((size) => new Uint8Array(size));
  const [first, second] = [take(18), take(18)];
  first.fill(255);
  expect([...second]).toEqual(Array(18).fill(0));
});
