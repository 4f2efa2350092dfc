import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../cli/commands.ts';
import { GLOBAL_OPTIONS } from '../../cli/read-arguments.ts';
import { findCommand } from '../../cli/run.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const pagesIn = (folder: string): string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
const PAGES = ['README.md', 'CONTRIBUTING.md', ...pagesIn('docs'), ...pagesIn('docs/how-to')];

/** The lines of shell blocks, and texts between backticks. */
const codeIn = (page: string): string[] => {
  const text = read(page).replaceAll(/\\\n */g, '');
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block = '']) =>
    block.split(/\n| && | \| /).map((line) => line.replace(/\s+#.*/, '')),
  );
  const inline = text.replaceAll(/^```.*?^```/gms, '').matchAll(/`([^`\n]+)`/g);
  return [...blocks, ...[...inline].map(([, code = '']) => code)];
};

const optionsIn = (code: string): string[] =>
  [...code.matchAll(/(?<![\w-])--([a-z][a-z-]*)/g)].map(([, name = '']) => name);

const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

const sourcesIn = (folder: string): string[] =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder))
        .filter((name) => name.endsWith('.ts'))
        .map((name) => `${folder}/${name}`)
    : [];

/** The sources of the program that a script runs: its file, those of the folder of the same name, and those named after it. */
const sourcesOf = (script: string): string => {
  const [entry = ''] = (scripts[script] ?? '').match(/\S+\.ts$/) ?? [];
  if (entry === '') return '';
  const name = entry.replace(/(?:\/main)?\.ts$/, '');
  const own = sourcesIn(script === 'start' ? 'local' : name);
  const named = sourcesIn(dirname(entry)).filter((path) => path.startsWith(`${name}-`));
  return [entry, ...own, ...named].map(read).join('\n');
};

const reads = (sources: string, option: string): boolean =>
  new RegExp(`^\\s*'?${option}'?: \\{|--${option}\\b`, 'm').test(sources);

const STARTS = /^(?:npm (?:run (?:-s )?)?([\w:-]+) -- |(?:npx )?model-router )(.*)$/;

const adminOptions = (words: string[]): readonly string[] => {
  const { options = [] } = findCommand(words).command;
  return [...options, ...GLOBAL_OPTIONS];
};

/** The options of a command that its program does not read. */
const unknownIn = (code: string): string[] => {
  const [, script = 'start', rest = ''] = STARTS.exec(code) ?? [];
  const [first, ...after] = rest.split(' ');
  const isPacked =
    code.includes('model-router ') && ['admin', 'connect', 'import'].includes(first ?? '');
  const program = isPacked ? (first ?? '') : script;
  const [before = ''] = (isPacked ? after.join(' ') : rest).split(/(?:^| )--/);
  const words = before.split(' ').filter(Boolean);
  const asked = optionsIn(rest);
  if (program === 'admin' && /^[a-z]/.test(words[0] ?? '')) {
    const known = adminOptions(words);
    return asked.filter((name) => !known.includes(name));
  }
  // vitest and others read their own.
  const sources = sourcesOf(program);
  return sources === '' ? [] : asked.filter((name) => !reads(sources, name));
};

test('every option of a command on the pages is one that its program reads', () => {
  const commands = PAGES.flatMap((page) =>
    codeIn(page).flatMap((code) =>
      STARTS.test(code) && code.includes(' --') ? [{ page, code }] : [],
    ),
  );
  expect(commands.length).toBeGreaterThan(100);
  const unknown = commands.flatMap(({ page, code }) =>
    unknownIn(code).map((option) => `${page}: --${option} in: ${code}`),
  );
  expect(unknown).toEqual([]);
});

/** Of programs of others. */
const FOREIGN = ['cpu-prof'];

test('every option that a page names alone is one of a program of this project', () => {
  const own = new Set([
    ...Object.values(COMMANDS).flatMap(({ options = [] }) => options),
    ...GLOBAL_OPTIONS,
  ]);
  const programs = Object.keys(scripts).map(sourcesOf).join('\n');
  const alone = PAGES.flatMap((page) =>
    codeIn(page).flatMap((code) =>
      code.startsWith('--') ? optionsIn(code).map((name) => ({ page, name })) : [],
    ),
  );
  expect(alone.length).toBeGreaterThan(30);
  const others = alone.flatMap(({ name }) =>
    own.has(name as never) || reads(programs, name) ? [] : [name],
  );
  expect([...new Set(others)].toSorted()).toEqual(FOREIGN);
});
