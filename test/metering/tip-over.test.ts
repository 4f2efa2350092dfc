import { afterEach, beforeEach, expect, test } from 'vitest';
import { startScaledLab } from './scaled-lab.ts';

type Lab = Awaited<ReturnType<typeof startScaledLab>>;

/** A fortieth of what DynamoDB grants one item. */
const UNITS_PER_SECOND = 25;
/** Requests a second that one item admits: each is two writes. */
const CAPACITY = UNITS_PER_SECOND / 2;
const CALM = 0.37 * CAPACITY;

let lab: Lab;
beforeEach(async () => {
  lab = await startScaledLab({ unitsPerSecond: UNITS_PER_SECOND });
});
afterEach(() => lab.close());

const isServed = (status: number) => status === 200;
const shareOf = (statuses: number[]): number => statuses.filter(isServed).length / statuses.length;

test('a key that is offered six times what one item of DynamoDB admits is answered in full after five seconds', async () => {
  const before = await lab.offer(CALM, 1);
  const first = await lab.offer(6 * CAPACITY, 5);
  const { refused } = lab.capacity.counts;
  const steady = await lab.offer(6 * CAPACITY, 2);
  const after = await lab.offer(CALM, 1);
  await lab.settle();
  expect(refused).toBeGreaterThan(0);
  expect(shareOf(before)).toBe(1);
  // One item alone answers a sixth. The last tenth depends on the order in which a busy machine runs the environments.
  expect(shareOf(steady)).toBeGreaterThanOrEqual(0.9);
  expect(shareOf(after)).toBe(1);

  // Overload costs responses of 503, but no unit, and a refused write leaves no mark.
  const statuses = [before, first, steady, after].flat();
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(await lab.tenant.charged()).toBe(statuses.filter(isServed).length);
  const items = lab.capacity.attributes();
  expect(items.flat().filter((name) => name.startsWith('m'))).toEqual([]);
});
