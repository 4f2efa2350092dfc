import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { COMPUTING, slowFirst, WAITING } from './slow-first.ts';

const isAt = (file: string, name: string) => file === name;

test('each file that starts early is a file of tests', () => {
  const missing = [...COMPUTING, ...WAITING].filter(
    (name) => !existsSync(new URL(`../${name}.test.ts`, import.meta.url)),
  );
  expect(missing).toEqual([]);
});

test('the order has every file once, those that compute for long before the others, and those that wait apart', () => {
  const others = Array.from({ length: 200 }, (_, index) => `other ${index}`);
  const order = slowFirst([...others, ...WAITING, ...COMPUTING], isAt);
  expect(order.toSorted()).toEqual([...others, ...WAITING, ...COMPUTING].toSorted());
  expect(order.filter((file) => COMPUTING.includes(file))).toEqual(COMPUTING);
  expect(order.filter((file) => others.includes(file))).toEqual(others);
  expect(order.indexOf('other 0')).toBeGreaterThan(order.indexOf(COMPUTING.at(-1) ?? ''));
  const places = order.flatMap((file, place) => (WAITING.includes(file) ? [place] : []));
  expect(places).toEqual(WAITING.map((_, index) => index * 12));
});

test('a run of some files has them all', () => {
  expect(slowFirst(['b', 'shares/crowd', 'a', 'alerts/local'], isAt)).toHaveLength(4);
});
