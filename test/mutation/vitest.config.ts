import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { type Mutant, mutantsOf, withMarks, withMutant } from './mutants.ts';

/** The files to be marked, or one mutant: what the modules of this run have in place of the working tree's text. */
export type Change = { marks: string[] } | { mutant: Mutant };

const change = JSON.parse(process.env.MUTATION_CHANGE ?? '{"marks":[]}') as Change;
const order = (process.env.MUTATION_TESTS ?? '').split(',');

/** Numbers of the first mutants of each marked file, as main.ts counts them. */
const textOf = (file: string): string | undefined => {
  if ('mutant' in change) {
    return file === change.mutant.file
      ? withMutant(readFileSync(file, 'utf8'), change.mutant)
      : undefined;
  }
  let first = 0;
  for (const marked of change.marks) {
    const code = readFileSync(marked, 'utf8');
    const mutants = mutantsOf(marked, code);
    if (marked === file) return withMarks(code, mutants, first);
    first += mutants.length;
  }
  return undefined;
};

/** The fastest first, as main.ts orders them. */
class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) =>
      order.findIndex((file) => moduleId.endsWith(file));
    return files.toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}

const changedText = (id: string) => textOf(id.replace(`${process.cwd()}/`, ''));

export default defineConfig({
  plugins: [
    {
      name: 'mutation',
      enforce: 'pre',
      transform: (_, id) => changedText(id),
      // Vitest keeps what it transformed for later runs, of the tests as well.
      configureVitest: ({ defineCacheKeyGenerator }) =>
        defineCacheKeyGenerator(({ id }) => (changedText(id) === undefined ? undefined : false)),
    },
  ],
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/browser/**'],
    setupFiles: ['test/support/fail-on-leaks.ts', 'test/mutation/note-reached.ts'],
    pool: 'threads',
    // What runs once, when a module is loaded, is reached by each file that loads it.
    isolate: 'marks' in change,
    maxWorkers: 1,
    bail: 'mutant' in change ? 1 : 0,
    sequence: { sequencer: InOrder },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 5_000, interval: 5 } },
    reporters: [['default', { summary: false }]],
  },
});
