import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fc, share } from '../../support/seeds.ts';
import { DELIBERATE, NODE_FAULT } from './deliberate.ts';
import { type Oracle, startOracle } from './node-oracle.ts';
import { readBytes } from './read-response.ts';
import { mutatedBytes, responseBytes } from './response-texts.ts';

let oracle: Oracle;
beforeAll(async () => {
  oracle = await startOracle();
});
afterAll(() => oracle.close());

const reasonFor = (bytes: Uint8Array): string | undefined => {
  const text = Buffer.from(bytes).toString('latin1');
  return DELIBERATE.find(({ pattern }) => pattern.test(text))?.what;
};

/** Status, body and end as Node reads them. What is rejected is rejected by Node, or deliberately. */
const expectAsNode = async (bytes: Uint8Array): Promise<'accepted' | 'rejected'> => {
  const { outcome, length, mayContinue } = readBytes(bytes);
  if (NODE_FAULT.test(Buffer.from(bytes).toString('latin1'))) return 'rejected';
  const whole = bytes.subarray(0, length);
  const node = await oracle.read(whole);
  if (outcome === 'rejected') {
    if (reasonFor(bytes) === undefined) expect(node.outcome).toBe('rejected');
    return 'rejected';
  }
  expect(node.outcome).toEqual(outcome);
  if (mayContinue) expect(node.mayContinue).toBe(true);
  if (length !== undefined) {
    // Without its last byte it is not complete: Node sees the same end.
    expect((await oracle.read(whole.subarray(0, -1))).outcome).toBe('rejected');
  }
  return 'accepted';
};

/** How many of the inputs the reader accepts. */
const checkAll = async (inputs: fc.Arbitrary<Uint8Array>, numRuns: number): Promise<number> => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(inputs, async (bytes) => {
      if ((await expectAsNode(bytes)) === 'accepted') accepted += 1;
    }),
    { numRuns },
  );
  return accepted;
};

describe("the reader and Node's client", () => {
  test('a valid response has the status, the body and the end that Node reads', async () => {
    expect(await checkAll(responseBytes, share(400))).toBe(share(400));
  });

  test('a response with changed bytes is read as Node reads it, or rejected', async () => {
    const accepted = await checkAll(mutatedBytes, share(800));
    expect(accepted).toBeGreaterThan(share(100));
    expect(accepted).toBeLessThan(share(700));
  });

  test.each(DELIBERATE)('$what is rejected although Node reads it', async (row) => {
    const bytes = Buffer.from(row.example, 'latin1');
    expect(reasonFor(bytes)).toBe(row.what);
    expect((await oracle.read(bytes)).outcome).not.toBe('rejected');
    expect(readBytes(bytes).outcome).toBe('rejected');
  });
});
