import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** Creates a folder that is deleted after all tests of the file. Call it outside of tests. */
export const temporaryFolder = (name: string): string => {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  afterAll(() => rmSync(folder, { recursive: true }));
  return folder;
};
