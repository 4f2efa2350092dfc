import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CALLER_PROTOCOLS, UPSTREAM_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import { basePathOf } from '../../local/embedded-upstream/wires.ts';
import { PATHS } from '../support/request-forms.ts';
import { VENDORS } from '../support/strict-upstream/vendors.ts';
import { WIRES } from '../support/wires.ts';

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

test('every protocol of targets is in the laws of all pairs, and has a strict vendor and an embedded upstream', () => {
  expect(WIRES).toEqual(UPSTREAM_PROTOCOLS);
  expect(Object.keys(VENDORS).toSorted()).toEqual(UPSTREAM_PROTOCOLS.toSorted());
  const paths = UPSTREAM_PROTOCOLS.map(basePathOf);
  expect(new Set(paths).size).toBe(UPSTREAM_PROTOCOLS.length);
  expect(Object.keys(PATHS)).toEqual([...CALLER_PROTOCOLS]);
});

test.each(LAWS)('%s has its rows from the list of upstream protocols', (file) => {
  const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
  expect(text).toMatch(/\bWIRES\b.*from '(?:\.\.\/)*(?:\.\/)?(?:support\/)?wires\.ts'/);
});
