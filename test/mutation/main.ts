/**
 * Mutants of the files that can deny, charge or release: `npm run mutate -- lambdas/metering`. A mutant that no test
 * notices is printed. Modules are changed while Vitest loads them, so the working tree stays as it is.
 */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createRandom } from '../simulation/random.ts';
import { type Mutant, mutantsOf } from './mutants.ts';
import type { Reached } from './note-reached.ts';
import { endRunners, type Runner, startRunner, temporary } from './start-runner.ts';

/** Besides the mirrored ones: tests of the outside that a folder's behaviour shows in, within their process. */
const TESTS: Record<string, RegExp> = {
  'lambdas/http-client': /^lambdas\/(aws|upstreams)\//,
  'lambdas/keys': /^(lambdas\/(admin\/keys|http\/|web\/)|metering\/keys)/,
  'lambdas/metering':
    /^(lambdas\/endpoints\/|metering\/(early|idle|limits|overlap|store|thresholds|tip|trouble))/,
  'lambdas/replay': /^(replay\/|simulation\/replay)/,
  'lambdas/routing': /^(docs\/reliability|faults\/|lambdas\/endpoints\/)/,
};

const testsOf = (folder: string): string[] =>
  readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .filter((name) => name.startsWith(`${folder}/`) || TESTS[folder]?.test(name))
    .map((name) => join('test', name));

const MARKED_TIMEOUT_MS = 120_000;
/** Longer than the longest test needs, also where it has to wait for another process. */
const timeoutFor = (reached: Reached[]): number =>
  Math.round(Math.max(15_000, ...reached.map(({ longestMs }) => 3 * longestMs)));

type Outcome = 'killed' | 'survived' | 'timed out' | 'unreached';
type Judged = { mutant: Mutant; outcome: Outcome };

const folderOf = (file: string): string => file.split('/').slice(0, 2).join('/');

const filesIn = (path: string): string[] =>
  path.endsWith('.ts')
    ? [path]
    : readdirSync(path, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => join(path, name))
        .toSorted();

/** Which tests reach which mutant, from one run in which each marks that it is reached. */
const readReached = async (files: string[]): Promise<Reached[]> => {
  const tests = [...new Set(files.map(folderOf))].flatMap(testsOf);
  const folder = mkdtempSync(join(temporary, 'reached-'));
  const runner = await startRunner(MARKED_TIMEOUT_MS, folder);
  const failed = await runner.run({ change: { marks: files }, tests });
  runner.end();
  if (failed === undefined) throw new Error('The tests did not end without a mutant');
  if (failed.length > 0) print(`left out, they fail without a mutant: ${failed.join(', ')}`);
  return readdirSync(folder)
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Reached)
    .filter(({ test }) => !failed.includes(test));
};

const shuffle = <Item>(items: Item[], seed: number): Item[] => {
  const random = createRandom(seed);
  const keyed = items.map((item) => ({ item, key: random.between(0, 2 ** 31) }));
  return keyed.toSorted((one, other) => one.key - other.key).map(({ item }) => item);
};

const shorten = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > 70 ? `${line.slice(0, 69)}…` : line;
};

const describeMutant = ({ file, line, start, end, text }: Mutant): string => {
  const before = readFileSync(file, 'utf8').slice(start, end);
  return `${file}:${line}  ${shorten(before)}  ->  ${text === ';' ? 'dropped' : shorten(text)}`;
};

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const printTable = (judged: Judged[]): void => {
  print('\nfolder | mutants | reached | killed | of those reached');
  for (const folder of new Set(judged.map(({ mutant }) => folderOf(mutant.file)))) {
    const own = judged.filter(({ mutant }) => folderOf(mutant.file) === folder);
    const reached = own.filter(({ outcome }) => outcome !== 'unreached').length;
    const killed = own.filter(({ outcome }) => ['killed', 'timed out'].includes(outcome)).length;
    const share = ((100 * killed) / Math.max(1, reached)).toFixed(1);
    print(`${folder} | ${own.length} | ${reached} | ${killed} | ${share} %`);
  }
};

type Tried = { mutant: Mutant; reaching: Reached[] };

/** How many mutants each file of tests has noticed. */
const noticed = new Map<string, number>();

/** First those that are likely to notice soon. */
const inOrder = (reaching: Reached[]): string[] => {
  const costOf = ({ test, ms }: Reached) => ms / (1 + (noticed.get(test) ?? 0));
  return reaching.toSorted((one, other) => costOf(one) - costOf(other)).map(({ test }) => test);
};

const outcomeOf = (failed: string[] | undefined): Outcome => {
  if (!failed) return 'timed out';
  return failed.length > 0 ? 'killed' : 'survived';
};

/** Judges mutants until none is left, one after the other. */
const judge = async (
  next: () => Tried | undefined,
  { timeoutMs, isVerbose }: { timeoutMs: number; isVerbose: boolean },
): Promise<Judged[]> => {
  const judged: Judged[] = [];
  let runner: Runner | undefined;
  for (let tried = next(); tried; tried = next()) {
    const { mutant, reaching } = tried;
    if (reaching.length === 0) {
      judged.push({ mutant, outcome: 'unreached' });
      continue;
    }
    runner ??= await startRunner(timeoutMs);
    const failed = await runner.run({ change: { mutant }, tests: inOrder(reaching) });
    for (const test of failed ?? []) noticed.set(test, 1 + (noticed.get(test) ?? 0));
    const outcome = outcomeOf(failed);
    judged.push({ mutant, outcome });
    if (outcome === 'survived') print(describeMutant(mutant));
    else if (isVerbose) print(`  ${outcome} ${describeMutant(mutant)}  ${failed ?? ''}`);
    if (failed) continue;
    runner.end();
    runner = undefined;
  }
  runner?.end();
  return judged;
};

const main = async (): Promise<void> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      sample: { type: 'string' },
      seed: { type: 'string', default: '1' },
      jobs: { type: 'string', default: '2' },
      verbose: { type: 'boolean', default: false },
    },
  });
  const paths = positionals.length > 0 ? positionals : Object.keys(TESTS);
  const files = paths.flatMap((path) => filesIn(path.replace(/\/$/, '')));
  const mutants = files.flatMap((file) => mutantsOf(file, readFileSync(file, 'utf8')));
  print(`${mutants.length} mutants in ${files.length} files; finding the tests that reach them`);
  const reached = await readReached(files);
  const numbered = mutants.map((mutant, number) => ({
    mutant,
    reaching: reached.filter((each) => each.mutants.includes(number)),
  }));
  const sample = shuffle(numbered, Number(values.seed)).slice(0, Number(values.sample ?? Infinity));
  print(
    `${reached.length} files of tests; trying ${sample.length} mutants (--seed ${values.seed})`,
  );
  const jobs = Array.from({ length: Number(values.jobs) }, () =>
    judge(() => sample.pop(), { timeoutMs: timeoutFor(reached), isVerbose: values.verbose }),
  );
  printTable((await Promise.all(jobs)).flat());
};

process.once('SIGINT', () => {
  endRunners();
  process.exit(130);
});
main().finally(endRunners);
