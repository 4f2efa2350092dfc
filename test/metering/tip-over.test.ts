import { afterEach, beforeEach, expect, test } from 'vitest';
import { startScaledLab } from './scaled-lab.ts';

type Lab = Awaited<ReturnType<typeof startScaledLab>>;

/** A fiftieth of what DynamoDB grants one item. */
const UNITS_PER_SECOND = 20;
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

test.each([2.25, 6])(
  'a key that was offered %f times what one item of DynamoDB admits is served as before five seconds later',
  async (times) => {
    const before = await lab.offer(CALM, 5);
    const burst = await lab.offer(times * CAPACITY, 4);
    const { refused } = lab.capacity.counts;
    const recovery = await lab.offer(CALM, 5);
    const after = await lab.offer(CALM, 8);
    await lab.settle();
    expect(shareOf(before)).toBe(1);
    expect(refused).toBeGreaterThan(0);
    expect(shareOf(after)).toBeGreaterThanOrEqual(0.95);

    // Overload costs responses of 503, but no unit, and a refused write leaves no mark.
    const statuses = [before, burst, recovery, after].flat();
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
    expect(await lab.tenant.charged()).toBe(statuses.filter(isServed).length);
    const items = lab.capacity.attributes();
    expect(items.flat().filter((name) => name.startsWith('m'))).toEqual([]);
  },
);
