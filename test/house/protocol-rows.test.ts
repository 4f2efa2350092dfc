import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CALLER_PROTOCOLS, UPSTREAM_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import { basePathOf } from '../../local/embedded-upstream/wires.ts';
import { PATHS } from '../support/request-forms.ts';
import { VENDORS } from '../support/strict-upstream/vendors.ts';
import { WIRES, type Wire } from '../support/wires.ts';

/**
 * The laws of every pair of a caller and a target. Their rows come from the two lists of protocols, so that a protocol of
 * `WIRES` without a row is an error of the compiler.
 */
const LAWS = [
  'test/answers/answers.test.ts',
  'test/answers/deep-arguments.test.ts',
  'test/answers/ledger.test.ts',
  'test/answers/strict-upstream.test.ts',
  'test/answers/written-numbers.test.ts',
  'test/faults/after-end.test.ts',
  'test/faults/first-content.test.ts',
  'test/faults/matrix.test.ts',
  'test/faults/prefixes/cells.ts',
  'test/fuzz/corpus.ts',
  'test/lambdas/protocols/cache/stable-prefix.test.ts',
  'test/lambdas/protocols/request-laws.test.ts',
  'test/lambdas/protocols/stream-laws.test.ts',
  'test/lambdas/protocols/usage-laws.test.ts',
  'test/sdk/held-sessions.test.ts',
  'test/sdk/open-responses.test.ts',
  'test/state/open-responses.test.ts',
  'test/support/fault-bench.ts',
  'test/support/golden.ts',
];

const testOf = (protocol: string) =>
  join(import.meta.dirname, `../lambdas/protocols/${protocol}.test.ts`);

test('every protocol of targets is in the laws of all pairs, with a strict vendor and an embedded upstream, or has a test with its name', () => {
  const others = UPSTREAM_PROTOCOLS.filter((name) => !WIRES.includes(name as Wire));
  expect(others.filter((name) => !existsSync(testOf(name)))).toEqual([]);
  expect(Object.keys(VENDORS).toSorted()).toEqual(WIRES.toSorted());
  expect(new Set(WIRES.map(basePathOf)).size).toBe(WIRES.length);
  expect(Object.keys(PATHS)).toEqual([...CALLER_PROTOCOLS]);
});

test.each(LAWS)('%s has its rows from the list of upstream protocols', (file) => {
  const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
  expect(text).toMatch(/\bWIRES\b.*from '(?:\.\.\/)*(?:\.\/)?(?:support\/)?wires\.ts'/);
});
