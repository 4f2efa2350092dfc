import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { mintKey } from '../../../lambdas/keys/api-key.ts';
import { createAuthenticate } from '../../../lambdas/keys/authenticate.ts';
import { createCachedLookup } from '../../../lambdas/keys/cached-lookup.ts';
import { StoreUnavailable } from '../../../lambdas/stores/store-unavailable.ts';
import { createManualClock } from '../../support/manual-clock.ts';

/** A look-up whose reads end when the test says so. */
const setUp = () => {
  const clock = createManualClock(0);
  const reads: PromiseWithResolvers<string | undefined>[] = [];
  const find = () => {
    const read = Promise.withResolvers<string | undefined>();
    reads.push(read);
    return read.promise;
  };
  const lookup = createCachedLookup({ find, clock });
  /** Reads a value at once. */
  const know = async (value: string | undefined) => {
    const found = lookup.find('id');
    reads.at(-1)?.resolve(value);
    return found;
  };
  return { clock, reads, lookup, know };
};

test('a first read is waited for, however long it takes, and shared by all who ask', async () => {
  const { clock, reads, lookup } = setUp();
  const both = [lookup.find('id'), lookup.find('id')];
  clock.advance(60_000);
  reads[0]?.resolve('value');
  expect(await Promise.all(both)).toEqual(['value', 'value']);
  expect(reads).toHaveLength(1);
});

test('a read that was frozen with the request that began it is not joined, and replaces no later value', async () => {
  const { clock, reads, lookup } = setUp();
  const frozen = lookup.find('id');
  clock.advance(4_000);
  const next = lookup.find('id');
  expect(reads).toHaveLength(2);
  reads[1]?.resolve('new');
  expect(await next).toBe('new');
  reads[0]?.resolve('old');
  expect(await frozen).toBe('new');
  expect(lookup.peek('id')).toEqual({ value: 'new', isDue: false });
});

test('a value is as old as its read, from the start', async () => {
  const { clock, reads, lookup } = setUp();
  const found = lookup.find('id');
  clock.advance(3_600_000);
  reads[0]?.resolve('value');
  expect(await found).toBe('value');
  expect(lookup.peek('id')).toEqual({ value: 'value', isDue: true });
});

test('a read that takes 250 ms is not waited for where an old value is known, and its result serves the next request', async () => {
  const { clock, reads, lookup, know } = setUp();
  await know('old');
  clock.advance(9_999);
  expect(lookup.peek('id')).toEqual({ value: 'old', isDue: false });
  expect([await lookup.find('id'), reads.length]).toEqual(['old', 1]);
  clock.advance(1);
  expect(lookup.peek('id')).toEqual({ value: 'old', isDue: true });
  const found = lookup.find('id');
  clock.advance(249);
  const isSettled = await Promise.race([found.then(() => true), Promise.resolve(false)]);
  expect(isSettled).toBe(false);
  clock.advance(1);
  expect([await found, reads.length]).toEqual(['old', 2]);
  reads[1]?.resolve('new');
  await reads[1]?.promise;
  await expect.poll(() => lookup.peek('id')).toEqual({ value: 'new', isDue: false });
});

test('a read that ends within 250 ms replaces an old value at once, also by none', async () => {
  const { clock, lookup, know } = setUp();
  await know('old');
  clock.advance(10_000);
  expect(await know('new')).toBe('new');
  clock.advance(10_000);
  expect(await know(undefined)).toBeUndefined();
  expect([lookup.peek('id'), lookup.isCached('id')]).toEqual([undefined, true]);
});

test('an absent value is known to be absent for 5 s', async () => {
  const { clock, reads, lookup, know } = setUp();
  expect([await know(undefined), lookup.isCached('id')]).toEqual([undefined, true]);
  clock.advance(4_999);
  expect([await lookup.find('id'), reads.length]).toEqual([undefined, 1]);
  clock.advance(1);
  expect(lookup.isCached('id')).toBe(false);
  expect([await know('value'), reads.length]).toEqual(['value', 2]);
});

test('an old value serves for 10 minutes while reads fail, which are 5 s apart', async () => {
  const { clock, reads, lookup, know } = setUp();
  await know('old');
  const fail = async () => {
    const found = lookup.find('id');
    reads.at(-1)?.reject(new StoreUnavailable('The table is unavailable.'));
    return found;
  };
  clock.advance(10_000);
  expect([await fail(), reads.length]).toEqual(['old', 2]);
  clock.advance(4_999);
  expect([await lookup.find('id'), reads.length]).toEqual(['old', 2]);
  clock.advance(1);
  expect([await fail(), reads.length]).toEqual(['old', 3]);
  clock.set(599_999);
  expect(await fail()).toBe('old');
  clock.set(600_000);
  await expect(fail()).rejects.toThrow(StoreUnavailable);
});

test('another error than an unavailable table is not covered by an old value', async () => {
  const { clock, reads, lookup, know } = setUp();
  await know('old');
  clock.advance(10_000);
  const found = lookup.find('id');
  reads.at(-1)?.reject(new TypeError('of another kind'));
  await expect(found).rejects.toThrow(TypeError);
});

test('the look-up of a key is a 503 after its timeout for all who wait, and is repeated once its reads have ended', async () => {
  const clock = createManualClock(0);
  const reads: PromiseWithResolvers<undefined>[] = [];
  const findKey = () => {
    const read = Promise.withResolvers<undefined>();
    reads.push(read);
    return read.promise;
  };
  const plans = { findPlan: async () => undefined };
  const authenticate = createAuthenticate({ keys: { findKey }, plans, clock, timeoutMs: 2_400 });
  const key = mintKey(randomBytes);
  const ask = () =>
    authenticate({ 'x-api-key': key }).then(
      () => 200,
      (error: { status: number }) => error.status,
    );
  const both = [ask(), ask()];
  clock.advance(2_399);
  reads[0]?.promise.catch(() => undefined);
  expect(await Promise.race([...both, Promise.resolve('waiting')])).toBe('waiting');
  clock.advance(1);
  expect(await Promise.all(both)).toEqual([503, 503]);
  expect([await ask(), reads.length]).toEqual([503, 1]);
  reads[0]?.resolve(undefined);
  await expect.poll(ask).toBe(401);
});
