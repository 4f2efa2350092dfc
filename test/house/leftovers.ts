import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Points `os.tmpdir()` of this process and its children to a new folder. The returned function deletes
 * it. @throws Error if something is left in the folder by then
 */
export const claimTmpdir = (): (() => void) => {
  const { TMPDIR } = process.env;
  const folder = mkdtempSync(join(tmpdir(), 'model-router-tests-'));
  process.env.TMPDIR = folder;
  // npm and vitest keep Node's compile cache in the temporary folder.
  process.env.NODE_DISABLE_COMPILE_CACHE = '1';
  return () => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    const leftovers = readdirSync(folder);
    rmSync(folder, { recursive: true });
    if (leftovers.length > 0) {
      throw new Error(`Tests left files in the temporary folder: ${leftovers.join(', ')}`);
    }
  };
};

/** Vitest runs it before all workers start, and the returned function after all tests. */
export const setup = claimTmpdir;
