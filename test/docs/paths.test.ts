import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

const FOLDERS = ['bin', 'cli', 'lib', 'lambdas', 'local', 'test', 'docs', 'bench', 'console'];
const ROOT_PAGES = ['README.md', 'AGENTS.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];

const filesBelow = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
    join(folder, path),
  );
const pages = [...ROOT_PAGES, ...filesBelow('docs').filter((path) => path.endsWith('.md'))];
const sources = FOLDERS.flatMap(filesBelow).filter((path) => /\.[cm]?tsx?$/.test(path));

const LINK = /\]\(([^)\s]+)\)/g;
const CODE = /```\w*\n(.*?)```|`([^`\n]+)`/gs;
/** A path from the root, such as `lambdas/router.ts` or `test/lambdas/routing`. */
const PATH = new RegExp(String.raw`^(?:${FOLDERS.join('|')})/[\w./-]*$`);
/** A source file by its name alone, such as `generate.ts`. */
const FILE = /^[\w/-]+(?:\.test)?\.[cm]?ts$/;

/** A page without its patches, which test/rehearsal/how-to.test.ts applies. */
const textOf = (page: string): string =>
  readFileSync(join(root, page), 'utf8').replaceAll(/^```diff\n[\s\S]*?^```$/gm, '');

/** The anchors of a page's headings, by the rules of GitHub. */
const anchorsIn = (text: string): string[] =>
  [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );

/** The relative links of a page that lead to no file or no heading. */
const brokenLinksIn = (page: string, text: string): string[] =>
  [...text.matchAll(LINK)]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : normalize(join(dirname(page), path));
      if (!existsSync(join(root, target))) return true;
      if (anchor === undefined || !target.endsWith('.md')) return false;
      const body = target === page ? text : readFileSync(join(root, target), 'utf8');
      return !anchorsIn(body).includes(anchor);
    });

/** The paths in a page's code that do not exist. Placeholders such as `<name>` are not paths. */
const missingPathsIn = (text: string): string[] =>
  [...text.matchAll(CODE)]
    .flatMap(([, block, inline]) => (block ?? inline ?? '').split(/[\s'"()=;,]+/))
    .map((word) => word.replace(/[.:]$/, ''))
    .filter((word) =>
      PATH.test(word)
        ? !existsSync(join(root, word))
        : FILE.test(word) && !sources.some((path) => `/${path}`.endsWith(`/${word}`)),
    );

describe('the pages', () => {
  test('at least 20 pages are checked', () => {
    expect(pages.length).toBeGreaterThanOrEqual(20);
    expect(sources.length).toBeGreaterThan(300);
  });

  test.each(pages)('every relative link of %s leads to a file and a heading', (page) => {
    expect(brokenLinksIn(page, textOf(page))).toEqual([]);
  });

  // The changelog names what existed at the time of each version.
  test.each(pages.filter((page) => page !== 'CHANGELOG.md'))(
    'every path that %s names in code exists',
    (page) => {
      expect(missingPathsIn(textOf(page))).toEqual([]);
    },
  );
});

describe('the check of the pages', () => {
  test.each([
    ['[a](docs/none.md)', 'docs/none.md'],
    ['[a](docs/naming.md#none)', 'docs/naming.md#none'],
    ['[a](#none)', '#none'],
  ])('a broken link is found: %s', (text, link) => {
    expect(brokenLinksIn('README.md', `# Title\n[b](#title)\n${text}`)).toEqual([link]);
  });

  test.each([
    ['`lambdas/none.ts`', 'lambdas/none.ts'],
    ['`none.ts`', 'none.ts'],
    ['`npx vitest run test/none`', 'test/none'],
    ['```\nlib/none/  a folder\n```', 'lib/none/'],
  ])('a missing path is found: %s', (text, path) => {
    expect(missingPathsIn(text)).toEqual([path]);
  });

  test('placeholders, URLs and existing paths are not reported', () => {
    const text = '`lambdas/<name>.ts` `https://a.example/b.ts` `lambdas/router.ts` `router.ts`';
    expect(missingPathsIn(text)).toEqual([]);
  });
});

describe('docs/naming.md', () => {
  const page = readFileSync(join(root, 'docs/naming.md'), 'utf8');
  const [, section = ''] = page.split('## Names in the code\n');
  const [table = ''] = section.trim().split('\n\n');
  const rows = table
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.includes('| Name |'))
    .map((line) => line.split(' | ')[1] ?? '');
  const names = rows.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  const code = sources
    .filter((path) => !path.startsWith('test/'))
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n');

  test('every name that it fixes is in the code', () => {
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => !new RegExp(String.raw`\b${name}\b`).test(code))).toEqual([]);
  });
});

describe('the pages by reader', () => {
  const DOORS = ['docs/calling.md', 'docs/operating.md', 'docs/finance.md', 'docs/on-call.md'];

  test.each([...DOORS, 'docs/README.md', 'CONTRIBUTING.md'])(
    '%s begins with a picture and a command, and has at most 1,500 words',
    (page) => {
      const text = readFileSync(join(root, page), 'utf8');
      const [, first = ''] = /^(.*?```sh\n.*?)```/s.exec(text) ?? [];
      expect(first).toMatch(/^# .+\n\n(?:```mermaid\n|!\[)/);
      expect(text.split(/\s+/).length).toBeLessThanOrEqual(1_500);
    },
  );

  test('every page of docs/ is one or two links away from docs/README.md', () => {
    const linked = (page: string) =>
      [...readFileSync(join(root, page), 'utf8').matchAll(LINK)]
        .map(([, link = '']) => normalize(join(dirname(page), link.split('#')[0] ?? '')))
        .filter((path) => path.endsWith('.md') && existsSync(join(root, path)));
    const near = linked('docs/README.md');
    const reached = new Set([...near, ...near.flatMap(linked)]);
    const own = pages.filter((page) => /^docs\/[^/]+\.md$/.test(page) && page !== 'docs/README.md');
    expect(own.filter((page) => !reached.has(page))).toEqual([]);
  });
});
