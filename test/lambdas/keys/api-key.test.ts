import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { hashKey, isWellFormedKey, mintKey, startOf } from '../../../lambdas/keys/api-key.ts';
import { fc } from '../../support/seeds.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const key = fc
  .infiniteStream(fc.integer({ min: 0, max: 255 }))
  .map((stream) => mintKey((size) => Uint8Array.from(stream.take(size))));

describe('a minted key', () => {
  test('a minted key is well-formed, and its start reveals four characters of the secret', () => {
    const minted = mintKey(randomBytes);
    expect(minted).toMatch(/^mrk_live_[0-9A-Za-z]{38}$/);
    expect(isWellFormedKey(minted)).toBe(true);
    expect(startOf(minted)).toBe(minted.slice(0, 13));
    expect(hashKey(minted)).toMatch(/^[0-9a-f]{64}$/);
  });

  test('1,000 minted keys are all different', () => {
    expect(new Set(Array.from({ length: 1_000 }, () => mintKey(randomBytes))).size).toBe(1_000);
  });

  test('a key with one wrong character is not well-formed', () => {
    const minted = mintKey(randomBytes);
    for (let at = 0; at < minted.length; at += 1) {
      for (const wrong of ALPHABET) {
        if (wrong === minted[at]) continue;
        expect(isWellFormedKey(minted.slice(0, at) + wrong + minted.slice(at + 1))).toBe(false);
      }
    }
  });

  test('a key with two swapped neighbours, cut off or extended is not well-formed', () => {
    fc.assert(
      fc.property(key, fc.nat({ max: 45 }), (minted, at) => {
        const [one = '', two = ''] = minted.slice(at, at + 2);
        const swapped = minted.slice(0, at) + two + one + minted.slice(at + 2);
        expect(isWellFormedKey(swapped)).toBe(one === two);
        expect(isWellFormedKey(minted.slice(0, at))).toBe(false);
        expect(isWellFormedKey(`${minted}0`)).toBe(false);
      }),
    );
  });
});

test.each([
  '',
  'mrk_live_',
  'sk-proj-0123456789',
  `sk-ant-${'a'.repeat(40)}`,
  `mrk_live_${'0'.repeat(38)}`,
])('"%s" is no key', (text) => {
  expect(isWellFormedKey(text)).toBe(false);
});
