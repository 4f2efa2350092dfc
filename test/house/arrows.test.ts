import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { checkArrows } from './arrows.ts';

/** A source tree of its own: path -> text. */
const plant = (files: Record<string, string>): string => {
  const root = mkdtempSync(join(tmpdir(), 'arrows-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
};

/** Importer, imported (both from the root), and the rule that forbids it. */
const FORBIDDEN: [from: string, to: string, rule: string][] = [
  ['lambdas/support/a.ts', 'lambdas/http/b.ts', 'support-reaches-too-far'],
  ['lambdas/protocols/a.ts', 'lambdas/endpoints/b.ts', 'protocols-reaches-too-far'],
  ['lambdas/endpoints/a.ts', 'lambdas/http/b.ts', 'endpoints-reaches-too-far'],
  ['lambdas/keys/a.ts', 'lambdas/env.ts', 'keys-reaches-too-far'],
  ['lambdas/http/a.ts', 'lambdas/endpoints/b.ts', 'http-takes-only-types'],
  ['lambdas/routing/a.ts', 'lambdas/upstreams/b.ts', 'routing-takes-only-types'],
  ['lambdas/upstreams/a.ts', 'lambdas/catalog/b.ts', 'upstreams-takes-only-types'],
  [
    'lambdas/protocols/chat/a.ts',
    'lambdas/protocols/messages/b.ts',
    'protocols-do-not-know-each-other',
  ],
  [
    'lambdas/protocols/tools/a.ts',
    'lambdas/protocols/messages/b.ts',
    'protocols-do-not-know-each-other',
  ],
  ['lambdas/stores/a.ts', 'lambdas/stores/dynamo/b.ts', 'stores-are-interfaces'],
  ['lambdas/create-router.ts', 'lambdas/stores/dynamo/b.ts', 'stores-are-interfaces'],
  ['local/a.ts', 'lambdas/router.ts', 'entries-are-not-imported'],
  ['lib/a.ts', 'lambdas/keys/b.ts', 'infrastructure-takes-only-contracts'],
  ['bin/a.ts', 'local/b.ts', 'infrastructure-takes-only-contracts'],
  ['lambdas/http/a.ts', 'lib/b.ts', 'runtime-never-imports-infrastructure'],
  ['local/a.ts', 'lib/b.ts', 'runtime-never-imports-infrastructure'],
  ['lambdas/create-router.ts', 'local/b.ts', 'router-knows-nothing-of-its-test-bed'],
  ['local/a.ts', 'test/b.ts', 'local-is-no-test'],
];

const relative = (from: string, to: string): string =>
  `./${'../'.repeat(from.split('/').length - 1)}${to}`;

const LEAF = 'export type Leaf = number;\n';

/** A tree in which each pair is one import: by value, or of a type. */
const treeOf = (pairs: [from: string, to: string][], kind: 'value' | 'type') => {
  const files: Record<string, string> = {};
  for (const [from, to] of pairs) {
    const what = kind === 'type' ? 'type { Leaf } from ' : '';
    files[from] = `${files[from] ?? LEAF}import ${what}'${relative(from, to)}';\n`;
    files[to] ??= LEAF;
  }
  return files;
};

describe('the import arrows', () => {
  test('each planted violation is reported once, by the rule that forbids it', () => {
    const pairs = FORBIDDEN.map(([from, to]): [string, string] => [from, to]);
    const { violations } = checkArrows(plant(treeOf(pairs, 'value')));
    const expected = FORBIDDEN.map(([from, to, rule]) => `${rule}: ${from} -> ${to}`);
    expect(violations.toSorted()).toEqual(expected.toSorted());
  });

  test('some folders may import types from a folder whose code they may not import', () => {
    const typesOnly = FORBIDDEN.filter(([, , rule]) => rule.endsWith('takes-only-types'));
    const pairs = typesOnly.map(([from, to]): [string, string] => [from, to]);
    expect(pairs.length).toBeGreaterThan(0);
    expect(checkArrows(plant(treeOf(pairs, 'type'))).violations).toEqual([]);
  });

  test('planted imports of the AWS SDK and of CDK, and a cycle even of types only, are reported', () => {
    const { violations } = checkArrows(
      plant({
        'lambdas/keys/a.ts': "import '@aws-sdk/client-dynamodb';\n",
        'lambdas/http/b.ts': "import 'aws-cdk-lib/aws-lambda';\n",
        'lambdas/support/a.ts': "import type { B } from './b.ts';\nexport type A = B;\n",
        'lambdas/support/b.ts': "import type { A } from './a.ts';\nexport type B = A[];\n",
      }),
    );
    expect(violations).toContainEqual(
      expect.stringMatching(/^sdk-only-at-the-walls: .*keys\/a\.ts/),
    );
    expect(violations).toContainEqual(
      expect.stringMatching(/^runtime-never-imports-.*http\/b\.ts/),
    );
    expect(violations).toContainEqual(
      expect.stringMatching(/^no-circle: lambdas\/support\/[ab]\.ts/),
    );
  });

  test.each([
    ['an empty tree', {}],
    ['folders without a module', { 'lambdas/notes.md': 'Nothing here.' }],
  ])('%s fails the check', (_name, files) => {
    expect(checkArrows(plant(files))).toEqual({
      modules: 0,
      violations: [expect.stringContaining('nothing was checked')],
    });
  });

  test('npm run arrows names an import that does not resolve, and exits with 1', () => {
    const root = plant({ 'lambdas/support/a.ts': "import './gone.ts';\n" });
    const script = fileURLToPath(new URL('./arrows.ts', import.meta.url));
    const run = spawnSync(process.execPath, [script, root], { encoding: 'utf8' });
    expect(run.stderr).toBe('no-dead-end: lambdas/support/a.ts -> ./gone.ts\n');
    expect(run.status).toBe(1);
  });
});
