import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Words and phrases that do not occur in comments, texts and pages, and what to write instead. */
const FORBIDDEN: Record<string, string> = {
  nobody: 'name the subject, or use the passive',
  whoever: 'name the subject',
  beside: 'next to, in addition to',
  anew: 'again',
  dear: 'expensive',
  mend: 'fix',
  mends: 'fixes',
  'the other family': 'the other protocol',
  'both families': 'every protocol',
  'either family': 'any protocol',
  'under way': 'in flight',
  'goes on': 'continues',
  'has gone': 'disconnected',
  'have gone': 'disconnected',
  'of its own': 'its, a separate',
  'of our own': 'our',
  'of ours': 'our',
  'all the same': 'regardless',
  'is told': 'gets, receives',
  'are told': 'get, receive',
  'stands in': 'replaces, is in',
  'is no': 'is not a',
  'rides along': 'is kept in',
  door: 'public endpoint',
  doors: 'public endpoints',
  whatever: 'name the subject',
  minds: 'fails for',
  insists: 'requires',
  insist: 'require',
  'lets go': 'releases',
  'let go': 'release',
  'by itself': 'alone, automatically',
  'at hand': 'available',
  'comes back': 'is sent back, recovers',
  'come back': 'are sent back, recover',
  heals: 'recovers',
  hears: 'receives',
  'in vain': 'without success',
  'the like': 'others',
  'has left': 'has disconnected',
  'have left': 'have disconnected',
  'gives up': 'stops',
  'given up': 'stopped',
  'goes out': 'is sent',
  'both vendors': 'every vendor',
};

/** Files that quote these words: the glossary. */
const EXEMPT = ['docs/naming.md'];

/** Between two words of a phrase: white space and, in a wrapped comment, the mark of the next line. */
const GAP = String.raw`(?:\s|\*|//)+`;

/** "There is no X" is plain English. */
const ALLOWED = String.raw`(?<!\bthere${GAP})`;

const WORDS = String.raw`\b(${Object.keys(FORBIDDEN).join('|').replaceAll(' ', GAP)})\b`;

const PATTERN = new RegExp(ALLOWED + WORDS, 'gi');

/** A source without a match, in code or in prose, needs no parser: most have none. */
const ANYWHERE = new RegExp(WORDS, 'i');

const isText = ({ kind }: ts.Node): boolean =>
  kind === ts.SyntaxKind.StringLiteral ||
  (kind >= ts.SyntaxKind.FirstTemplateToken && kind <= ts.SyntaxKind.LastTemplateToken);

const isJsDoc = ({ kind }: ts.Node): boolean =>
  kind >= ts.SyntaxKind.FirstJSDocNode && kind <= ts.SyntaxKind.LastJSDocNode;

/** Comments and text literals of a source at their positions; every other token is masked. */
const proseOf = (source: string): string => {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true);
  let prose = '';
  const visit = (node: ts.Node) => {
    if (isJsDoc(node)) return;
    const children = node.getChildren(file);
    if (children.length > 0) return children.forEach(visit);
    const token = source.slice(node.getStart(file), node.end);
    prose += source.slice(node.pos, node.getStart(file));
    prose += isText(node) ? token : token.replaceAll(/[^\n]/g, '\0');
  };
  visit(file);
  return prose;
};

/** `path:line: word (write instead)` for each forbidden word of a source or a page. */
const oddWords = (path: string, text: string): string[] => {
  if (!ANYWHERE.test(text)) return [];
  const prose = path.endsWith('.md') ? text : proseOf(text);
  return [...prose.matchAll(PATTERN)].map(({ 0: match, index }) => {
    const word = match.toLowerCase().replaceAll(new RegExp(GAP, 'g'), ' ');
    const line = prose.slice(0, index).split('\n').length;
    return `${path}:${line}: ${word} (write: ${FORBIDDEN[word]})`;
  });
};

const filesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(tsx?|mjs|cjs|md)$/.test(path))
    .map((path) => `${folder}/${path}`);

const files = [
  'README.md',
  ...['bin', 'cli', 'lib', 'lambdas', 'local', 'console', 'bench', 'docs'].flatMap(filesIn),
].filter((path) => !EXEMPT.includes(path));

describe('forbidden words', () => {
  test('sources and docs contain no forbidden word', () => {
    expect(files.length).toBeGreaterThan(30);
    const found = files.flatMap((path) => oddWords(path, readFileSync(join(root, path), 'utf8')));
    expect(found).toEqual([]);
  });

  test.each([
    ['a line comment', '// Nobody reads it.', 'nobody'],
    ['a wrapped comment', 'f(); /**\n * A counter of its\n * own.\n */', 'of its own'],
    ['two line comments', '// It goes\n// on.\nf();', 'goes on'],
    ['a string', "const text = 'This is no address.';", 'is no'],
    ['a template', `const text = \`\${name} is told \${limit}.\`;`, 'is told'],
    ['a comment in a template', `const text = \`\${name /* anew */}\`;`, 'anew'],
  ])('a forbidden word in %s is reported', (_, source, word) => {
    const line = source.split('\n').findIndex((text) => /nobody|its|goes|is|anew/i.test(text)) + 1;
    expect(oddWords('a.ts', source)).toEqual([`a.ts:${line}: ${word} (write: ${FORBIDDEN[word]})`]);
  });

  test('a forbidden word on a page is reported with its line', () => {
    expect(oddWords('a.md', '# Title\n\nIt is under\nway.')).toEqual([
      'a.md:3: under way (write: in flight)',
    ]);
  });

  test.each([
    ['an identifier', 'const nobody = dear.beside;'],
    ['part of a longer word', '// Besides, endearing amendments: this is not it.'],
    ['words that code separates', "f('the other', 'family');"],
  ])('%s is not reported', (_, source) => {
    expect(oddWords('a.ts', source)).toEqual([]);
  });
});
