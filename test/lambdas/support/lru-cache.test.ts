import { describe, expect, test } from 'vitest';
import { createLruCache } from '../../../lambdas/support/memo.ts';

const CAPACITY = 10;

/** Names of `count` entries. */
const names = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

const createFilled = (keys: readonly string[]) => {
  const cache = createLruCache<string>(CAPACITY);
  const fill = (more: readonly string[]) => {
    for (const key of more) cache.set(key, `value of ${key}`);
  };
  fill(keys);
  return { cache, fill };
};

describe('a cache', () => {
  test('the last entries that were set stay, as many as the capacity', () => {
    const keys = names('key', 5 * CAPACITY);
    for (let count = 1; count <= keys.length; count += 1) {
      const { cache } = createFilled(keys.slice(0, count));
      for (const key of keys.slice(0, count).slice(-CAPACITY)) {
        expect(cache.get(key)).toBe(`value of ${key}`);
      }
    }
  });

  test('an entry that nothing reads is gone once twice as many others were set', () => {
    const { cache, fill } = createFilled(['idle']);
    fill(names('other', 2 * CAPACITY));
    expect(cache.get('idle')).toBeUndefined();
  });

  test('an entry that is read stays while others are set', () => {
    const { cache, fill } = createFilled(['read']);
    for (const key of names('other', 20 * CAPACITY)) {
      fill([key]);
      expect(cache.get('read')).toBe('value of read');
    }
  });

  test('the newest value of an entry is read, however old the entry is', () => {
    for (let others = 0; others < CAPACITY; others += 1) {
      const { cache, fill } = createFilled(['key', ...names('other', others)]);
      cache.set('key', 'new');
      fill(names('later', CAPACITY - 1));
      expect(cache.get('key')).toBe('new');
    }
  });

  test('a deleted entry is gone, however often it was set before', () => {
    for (let others = 0; others < 2 * CAPACITY; others += 1) {
      const { cache } = createFilled(['key', ...names('other', others), 'key']);
      cache.delete('key');
      expect(cache.get('key')).toBeUndefined();
    }
  });

  test('a cache of one entry has the last one', () => {
    const cache = createLruCache<number>(1);
    for (const value of [1, 2, 3]) cache.set(`key${value}`, value);
    expect(cache.get('key3')).toBe(3);
    expect(cache.get('key1')).toBeUndefined();
  });
});
