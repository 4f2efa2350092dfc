import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createHidden } from '../../../lambdas/support/memo.ts';

describe('hidden values', () => {
  test('a hidden value is found by its object only, in the place that it was set', () => {
    const [one, other] = [createHidden<object, number>(), createHidden<object, number>()];
    const [list, copied] = [[1, 2], Object.freeze({ a: 1 })];
    one.set(list, 5);
    one.set(copied, 6);
    one.set(list, 7);
    expect([one.get(list), one.get([1, 2]), one.get([...list]), one.get(copied)]).toEqual([
      7,
      undefined,
      undefined,
      6,
    ]);
    expect(one.get({ ...copied })).toBeUndefined();
    expect(other.get(list)).toBeUndefined();
  });

  test('a hidden value changes nothing that can be seen of its object', () => {
    const list = [1, { a: 2 }];
    createHidden<object, string>().set(list, 'hidden');
    expect(isDeepStrictEqual(list, [1, { a: 2 }])).toBe(true);
    expect(Reflect.ownKeys(list)).toEqual(['0', '1', 'length']);
    expect(JSON.stringify(list)).toBe('[1,{"a":2}]');
    expect(structuredClone(list)).toEqual([1, { a: 2 }]);
  });
});
