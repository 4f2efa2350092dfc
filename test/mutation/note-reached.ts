import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect } from 'vitest';

/** The mutants that one file of tests reaches, how long it takes, and its longest test. */
export type Reached = { test: string; ms: number; longestMs: number; mutants: number[] };

const folder = process.env.MUTATION_REACHED;

if (folder !== undefined) {
  const reached = new Set<number>();
  const startedAt = performance.now();
  let longestMs = 0;
  let testStartedAt = startedAt;
  beforeEach(() => {
    testStartedAt = performance.now();
  });
  afterEach(() => {
    longestMs = Math.max(longestMs, performance.now() - testStartedAt);
  });
  Object.assign(globalThis, { __reach: (mutant: number) => reached.add(mutant) });
  afterAll(() => {
    const test = (expect.getState().testPath ?? '').replace(`${process.cwd()}/`, '');
    const ms = performance.now() - startedAt;
    const noted: Reached = { test, ms, longestMs, mutants: [...reached] };
    writeFileSync(join(folder, `${randomUUID()}.json`), JSON.stringify(noted));
  });
}
