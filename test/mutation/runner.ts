/**
 * A process that keeps one Vitest for many mutants, so that each costs only its tests. main.ts sends what to change
 * and the tests to run, and gets back the files of tests that failed.
 */
import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { BaseSequencer, createVitest, type TestSpecification } from 'vitest/node';
import { type Mutant, mutantsOf, withMarks, withMutant } from './mutants.ts';

/** The files to be marked, or one mutant: what the modules of a run have in place of the working tree's text. */
export type Change = { marks: string[] } | { mutant: Mutant };
export type Order = { change: Change; tests: string[] };
/** The second is the last one of an order; the first one of all has no order. */
export type Report = 'a test ended' | { failed: string[] };

let change: Change = { marks: [] };

const send = (report: Report): void => {
  process.send?.(report);
};

const filesOf = (changed: Change): string[] =>
  'mutant' in changed ? [changed.mutant.file] : changed.marks;

/** The file with its marks, whose numbers main.ts counts in the same way. */
const markedText = (file: string, marked: string[]): string => {
  const textOf = (name: string) => readFileSync(name, 'utf8');
  const first = marked
    .slice(0, marked.indexOf(file))
    .reduce((sum, earlier) => sum + mutantsOf(earlier, textOf(earlier)).length, 0);
  return withMarks(textOf(file), mutantsOf(file, textOf(file)), first);
};

const changedText = (id: string): string | undefined => {
  const file = relative(process.cwd(), id);
  if (!filesOf(change).includes(file)) return undefined;
  return 'mutant' in change
    ? withMutant(readFileSync(file, 'utf8'), change.mutant)
    : markedText(file, change.marks);
};

/** As main.ts orders them. */
class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files;
  }
}

const isMarking = process.env.MUTATION_REACHED !== undefined;
const timeoutMs = Number(process.env.MUTATION_TIMEOUT_MS);

const vitest = await createVitest(
  {
    config: false,
    watch: false,
    include: ['test/**/*.test.ts'],
    exclude: ['test/browser/**'],
    setupFiles: ['test/support/fail-on-leaks.ts', 'test/mutation/note-reached.ts'],
    pool: 'threads',
    // What runs once, when a module is loaded, is reached by each file that loads it.
    isolate: isMarking,
    maxWorkers: isMarking ? 2 : 1,
    bail: isMarking ? 0 : 1,
    sequence: { sequencer: InOrder },
    // What waits for a mutant that hangs fails then.
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    teardownTimeout: 2_000,
    expect: { poll: { timeout: 5_000, interval: 5 } },
    reporters: [{ onTestCaseResult: () => send('a test ended') }],
  },
  {
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
  },
);

/** The files of tests that fail with the change. */
const runTests = async (order: Order): Promise<string[]> => {
  const stale = [...filesOf(change), ...filesOf(order.change)];
  change = order.change;
  for (const file of stale) vitest.invalidateFile(resolve(file));
  const project = vitest.getRootProject();
  const specifications = order.tests.map((test) => project.createSpecification(resolve(test)));
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  const failed = testModules
    .filter((module) => module.state() === 'failed')
    .map(({ moduleId }) => relative(process.cwd(), moduleId))
    .filter((test) => order.tests.includes(test));
  return failed.length > 0 || unhandledErrors.length === 0 ? failed : ['an unhandled error'];
};

process.on('message', (order: Order) => {
  runTests(order).then((failed) => send({ failed }));
});
process.once('disconnect', () => process.exit());
send({ failed: [] });
