import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SHARED = 'shared';

/** What the files of a worker share, such as synthesized apps: no one of them could delete it. */
export const sharedFolder = (): string => join(tmpdir(), SHARED);

/** Sets variables of this process and its children. The returned function sets them as they were. */
const setVariables = (variables: Record<string, string>): (() => void) => {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
};

/**
 * Points `os.tmpdir()` of this process and its children to a new folder. The returned function deletes
 * it. @throws Error if something besides the shared folder is left in it by then
 */
export const claimTmpdir = (): (() => void) => {
  const folder = mkdtempSync(join(tmpdir(), 'model-router-tests-'));
  const restore = setVariables({ TMPDIR: folder });
  return () => {
    restore();
    const leftovers = readdirSync(folder).filter((name) => name !== SHARED);
    // A process that was killed may be writing what it has compiled.
    rmSync(folder, { recursive: true, maxRetries: 10 });
    if (leftovers.length > 0) {
      throw new Error(`Tests left files in the temporary folder: ${leftovers.join(', ')}`);
    }
  };
};

/** Vitest runs it before all workers start, and the returned function after all tests. */
export const setup = claimTmpdir;
