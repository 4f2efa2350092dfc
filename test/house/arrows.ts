import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';

const fromRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const CRUISER = fromRoot('node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
const CONFIG = fromRoot('.dependency-cruiser.cjs');
const FOLDERS = ['bin', 'cli', 'lib', 'lambdas', 'local', 'test', 'bench'];

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
  /** One line each: rule, importer, imported. Empty means that every import is allowed. */
  faults: string[];
};

/**
 * Checks the imports of the source tree in `root` against the layers. A tree in which nothing was
 * found is a fault: a compiler that the tool cannot use makes it see no module, and find no violation.
 */
export const checkArrows = (root: string): Arrows => {
  const folders = FOLDERS.filter((folder) => existsSync(join(root, folder)));
  if (folders.length === 0) return { modules: 0, faults: [NOTHING_FOUND] };
  const run = spawnSync(
    process.execPath,
    [CRUISER, '--config', CONFIG, '--output-type', 'json', ...folders],
    { cwd: root, encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 },
  );
  if (run.stdout === '') throw new Error(`dependency-cruiser failed: ${run.stderr}`);
  const { totalCruised, violations } = Report.parse(JSON.parse(run.stdout)).summary;
  const faults = violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`);
  return { modules: totalCruised, faults: totalCruised === 0 ? [NOTHING_FOUND] : faults };
};

const NOTHING_FOUND = 'No module was found, so nothing was checked.';

if (import.meta.main) {
  const { modules, faults } = checkArrows(process.argv[2] ?? fromRoot('.'));
  for (const fault of faults) console.error(fault);
  console.log(`arrows: ${modules} modules, ${faults.length} faults`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
