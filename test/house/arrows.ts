import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';

const fromRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const CRUISER = fromRoot('node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
const CONFIG = fromRoot('.dependency-cruiser.cjs');
const FOLDERS = ['bin', 'cli', 'console', 'lib', 'lambdas', 'local', 'test', 'bench'];

const Report = z.object({
  summary: z.object({
    totalCruised: z.int(),
    violations: z.array(
      z.object({ from: z.string(), to: z.string(), rule: z.object({ name: z.string() }) }),
    ),
  }),
});

export type Arrows = {
  modules: number;
  /** One line each: rule, importer, imported. Empty if every import is allowed. */
  violations: string[];
};

/**
 * Checks the imports of the source tree in `root` against .dependency-cruiser.cjs. A tree without
 * modules is a violation: with an unsupported compiler the tool finds no module and so no violation.
 */
export const checkArrows = (root: string): Arrows => {
  const folders = FOLDERS.filter((folder) => existsSync(join(root, folder)));
  if (folders.length === 0) return { modules: 0, violations: [NOTHING_FOUND] };
  const run = spawnSync(
    process.execPath,
    [CRUISER, '--config', CONFIG, '--output-type', 'json', ...folders],
    { cwd: root, encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 },
  );
  if (run.stdout === '') throw new Error(`dependency-cruiser failed: ${run.stderr}`);
  const { summary } = Report.parse(JSON.parse(run.stdout));
  const { totalCruised } = summary;
  const violations = summary.violations.map(
    ({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`,
  );
  return { modules: totalCruised, violations: totalCruised === 0 ? [NOTHING_FOUND] : violations };
};

const NOTHING_FOUND = 'No modules found: nothing was checked.';

if (import.meta.main) {
  const { modules, violations } = checkArrows(process.argv[2] ?? fromRoot('.'));
  for (const violation of violations) console.error(violation);
  console.log(`arrows: ${modules} modules, ${violations.length} violations`);
  process.exitCode = violations.length > 0 ? 1 : 0;
}
