import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';

/** The mutants that one file of tests reaches, and how long it takes. */
export type Reached = { test: string; ms: number; mutants: number[] };

const folder = process.env.MUTATION_REACHED;

if (folder !== undefined) {
  const reached = new Set<number>();
  const startedAt = performance.now();
  Object.assign(globalThis, { __reach: (mutant: number) => reached.add(mutant) });
  afterAll(() => {
    const test = (expect.getState().testPath ?? '').replace(`${process.cwd()}/`, '');
    const noted: Reached = { test, ms: performance.now() - startedAt, mutants: [...reached] };
    writeFileSync(join(folder, `${randomUUID()}.json`), JSON.stringify(noted));
  });
}
