/**
 * Mutants of the files that can deny, charge or release: `npm run mutate -- lambdas/metering`. A mutant that no test
 * notices is printed. Modules are changed while Vitest loads them, so the working tree stays as it is.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { createRandom } from '../simulation/random.ts';
import { type Mutant, mutantsOf } from './mutants.ts';
import type { Reached } from './note-reached.ts';
import type { Change } from './vitest.config.ts';

/** Besides the mirrored ones: tests of the outside that a folder's behaviour shows in, and that take seconds. */
const TESTS: Record<string, string[]> = {
  'lambdas/http-client': ['test/lambdas/upstreams/', 'test/lambdas/aws/'],
  'lambdas/keys': ['test/lambdas/web/', 'test/lambdas/admin/', 'test/metering/keys.test.ts'],
  'lambdas/metering': ['test/metering/', 'test/lambdas/endpoints/'],
  'lambdas/replay': ['test/replay/', 'test/simulation/replay.test.ts'],
  'lambdas/routing': ['test/faults/projects.test.ts', 'test/faults/matrix.test.ts'],
};

/** A file of tests that takes longer decides nothing in time. */
const SLOW_MS = 60_000;
const VITEST = [
  'node_modules/vitest/vitest.mjs',
  'run',
  '--config',
  'test/mutation/vitest.config.ts',
];

type Outcome = 'killed' | 'survived' | 'timed out' | 'unreached';

const temporary = mkdtempSync(join(tmpdir(), 'mutation-'));
let running: ChildProcess[] = [];

/** Runs tests on changed modules; undefined if they did not end in time. */
const run = async (
  tests: string[],
  { change, ms, reached }: { change: Change; ms: number; reached?: string },
): Promise<number | undefined> => {
  const own = mkdtempSync(join(temporary, 'run-'));
  const child = spawn(process.execPath, [...VITEST, ...tests], {
    // A group, so that its workers end with it.
    detached: true,
    stdio: process.env.MUTATION_VERBOSE === undefined ? 'ignore' : 'inherit',
    env: {
      ...process.env,
      TMPDIR: own,
      MUTATION_CHANGE: JSON.stringify(change),
      MUTATION_TESTS: tests.join(','),
      ...(reached !== undefined && { MUTATION_REACHED: reached }),
    },
  });
  running.push(child);
  const end = () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL');
  const timer = setTimeout(end, ms);
  const [code] = (await once(child, 'exit')) as [number | null];
  clearTimeout(timer);
  running = running.filter((other) => other !== child);
  rmSync(own, { recursive: true, force: true, maxRetries: 10 });
  return code ?? undefined;
};

const filesIn = (path: string): string[] =>
  path.endsWith('.ts')
    ? [path]
    : readdirSync(path, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => join(path, name))
        .toSorted();

const folderOf = (file: string): string => file.split('/').slice(0, 2).join('/');

/** Which tests reach which mutant, from one run in which each marks that it is reached. */
const readReached = async (files: string[]): Promise<Reached[]> => {
  const folders = [...new Set(files.map(folderOf))];
  const tests = folders.flatMap((folder) => [`test/${folder}/`, ...(TESTS[folder] ?? [])]);
  const reached = mkdtempSync(join(temporary, 'reached-'));
  await run(tests, { change: { marks: files }, ms: 1_200_000, reached });
  const all = readdirSync(reached).map(
    (name) => JSON.parse(readFileSync(join(reached, name), 'utf8')) as Reached,
  );
  return all.filter(({ ms }) => ms < SLOW_MS).toSorted((one, other) => one.ms - other.ms);
};

const judge = async (mutant: Mutant, reaching: Reached[]): Promise<Outcome> => {
  if (reaching.length === 0) return 'unreached';
  const usual = reaching.reduce((sum, { ms }) => sum + ms, 0);
  const tests = reaching.map(({ test }) => test);
  const code = await run(tests, { change: { mutant }, ms: 3 * usual + 30_000 });
  if (code === undefined) return 'timed out';
  return code === 0 ? 'survived' : 'killed';
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

const printTable = (judged: { mutant: Mutant; outcome: Outcome }[]): void => {
  print('\nfolder | mutants | reached | killed | of those reached');
  for (const folder of new Set(judged.map(({ mutant }) => dirname(mutant.file)))) {
    const own = judged.filter(({ mutant }) => dirname(mutant.file) === folder);
    const reached = own.filter(({ outcome }) => outcome !== 'unreached').length;
    const killed = own.filter(({ outcome }) => ['killed', 'timed out'].includes(outcome)).length;
    const share = ((100 * killed) / Math.max(1, reached)).toFixed(1);
    print(`${folder} | ${own.length} | ${reached} | ${killed} | ${share} %`);
  }
};

const main = async (): Promise<void> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      sample: { type: 'string' },
      seed: { type: 'string', default: '1' },
      jobs: { type: 'string', default: '2' },
    },
  });
  const paths = positionals.length > 0 ? positionals : Object.keys(TESTS);
  const files = paths.flatMap((path) => filesIn(path.replace(/\/$/, '')));
  const mutants = files.flatMap((file) => mutantsOf(file, readFileSync(file, 'utf8')));
  const numbered = mutants.map((mutant, number) => ({ mutant, number }));
  print(`${mutants.length} mutants in ${files.length} files; finding the tests that reach them`);
  const reached = await readReached(files);
  const sample = shuffle(numbered, Number(values.seed)).slice(0, Number(values.sample ?? Infinity));
  print(
    `${reached.length} files of tests; trying ${sample.length} mutants (--seed ${values.seed})`,
  );
  const judged: { mutant: Mutant; outcome: Outcome }[] = [];
  const work = async () => {
    for (let next = sample.pop(); next; next = sample.pop()) {
      const { mutant, number } = next;
      const reaching = reached.filter((each) => each.mutants.includes(number));
      const outcome = await judge(mutant, reaching);
      judged.push({ mutant, outcome });
      if (outcome === 'survived') print(describeMutant(mutant));
    }
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, work));
  printTable(judged);
};

const stop = () => {
  for (const { pid } of running) if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  rmSync(temporary, { recursive: true, force: true, maxRetries: 10 });
};
process.once('SIGINT', () => {
  stop();
  process.exit(130);
});
main().finally(stop);
