import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { analyse } from 'scslre';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Super-linear by the analysis, or unknown to it, and why that is accepted. */
const ACCEPTED: Record<string, string> = {
  'lambdas/http/read-address.ts shape':
    'built at the start from constant routes: anchored, and no parameter but the last contains a slash',
  "lambdas/protocols/rejections/removable.ts new RegExp(GRAMMARS.map((words) => words.replace('#', () => name)).join('|'), flags)":
    'built at the start from constants whose repetitions are bounded, and applied to 2,048 characters at most',
};

type Regex = { label: string; line: number; source: string | undefined; flags: string };

/** The value of an expression of text literals, `String.raw`, `+` and `[…].join(…)`; undefined for any other. */
const textOf = (node: ts.Node): string | undefined => {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTaggedTemplateExpression(node) && node.tag.getText() === 'String.raw') {
    return ts.isNoSubstitutionTemplateLiteral(node.template)
      ? node.template.getText().slice(1, -1)
      : undefined;
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    return joined([node.left, node.right], '');
  }
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return;
  const { expression: list, name } = node.expression;
  const between = node.arguments[0] && textOf(node.arguments[0]);
  if (name.text !== 'join' || !ts.isArrayLiteralExpression(list)) return;
  return between === undefined ? undefined : joined(list.elements, between);
};

const joined = (nodes: readonly ts.Node[], between: string): string | undefined => {
  const texts = nodes.map(textOf);
  return texts.includes(undefined) ? undefined : texts.join(between);
};

const partsOf = (node: ts.Node): Pick<Regex, 'source' | 'flags'> | undefined => {
  if (ts.isRegularExpressionLiteral(node)) {
    const end = node.text.lastIndexOf('/');
    return { source: node.text.slice(1, end), flags: node.text.slice(end + 1) };
  }
  if (!ts.isNewExpression(node) && !ts.isCallExpression(node)) return;
  if (!/^(?:globalThis\.)?RegExp$/.test(node.expression.getText())) return;
  const [source, flags] = node.arguments ?? [];
  return { source: source && textOf(source), flags: (flags && textOf(flags)) ?? '' };
};

const regexesOf = (text: string): Regex[] => {
  const file = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);
  const found: Regex[] = [];
  const visit = (node: ts.Node) => {
    const parts = partsOf(node);
    if (parts) {
      const { parent } = node;
      const label = ts.isVariableDeclaration(parent) ? parent.name.getText() : node.getText();
      const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      found.push({ ...parts, label, line });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
};

/** A large bound limits next to nothing: 1,000 steps for each of 64,000 characters take seconds. */
const withoutLargeBounds = (source: string): string =>
  source.replaceAll(/\{(\d{1,9}),\d{4,9}\}/g, '{$1,}');

const growthOf = ({ source, flags }: Regex): string | undefined => {
  if (source === undefined) return 'a source that is not constant';
  const { reports } = analyse({ source: withoutLargeBounds(source), flags });
  if (reports.length === 0) return undefined;
  const growth = reports.some(({ exponential }) => exponential) ? 'exponential' : 'polynomial';
  return `${growth} time in repetitions of ${reports.map(({ character }) => JSON.stringify(character.pick)).join(', ')}`;
};

/** Path and name of each regular expression that may take more than linear time, with its line and why. */
const slowIn = (path: string, text: string): Map<string, string> =>
  new Map(
    regexesOf(text).flatMap((regex) => {
      const growth = growthOf(regex);
      return growth === undefined
        ? []
        : [[`${path} ${regex.label}`, `line ${regex.line}: ${growth}`]];
    }),
  );

const files = ['bin', 'lib', 'cli', 'lambdas', 'local'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:ts|mjs|cjs)$/.test(path))
    .map((path) => `${folder}/${path}`),
);

describe('regular expressions', () => {
  test('every regular expression of the sources takes linear time, or is listed with a reason', () => {
    const texts = files.map((path) => [path, readFileSync(join(root, path), 'utf8')] as const);
    expect(texts.flatMap(([, text]) => regexesOf(text)).length).toBeGreaterThan(50);
    const slow = new Map(texts.flatMap(([path, text]) => [...slowIn(path, text)]));
    expect([...slow].filter(([label]) => !(label in ACCEPTED))).toEqual([]);
    // An entry without its regular expression would accept the next one of that name.
    expect([...slow.keys()].sort()).toEqual(Object.keys(ACCEPTED).sort());
  });

  test.each([
    ['digits at any place', String.raw`/(?<tokens>\d+) tokens > (\d+) maximum/`, 'polynomial'],
    ['nested repetitions', '/(a+)+$/', 'exponential'],
    ['adjacent repetitions', '/^bearer +(.*)$/i', 'polynomial'],
    ['a repetition before the end', String.raw`/\s+$/`, 'polynomial'],
    ['a bound of thousands', String.raw`/\d{1,5000} tokens/`, 'polynomial'],
    ['a constructor', String.raw`new RegExp('\\d+ tokens')`, 'polynomial'],
    ['a constructor without new', "RegExp('(a+)+$', 'u')", 'exponential'],
    ['joined parts', "new RegExp([String.raw`\\d+`, ' tokens'].join(''), 'g')", 'polynomial'],
    ['a source that is not constant', "new RegExp('^' + source)", 'not constant'],
  ])('a slow regular expression is reported: %s', (_, code, growth) => {
    expect([...slowIn('a.ts', `f();\nconst SLOW = ${code};\n`)]).toEqual([
      ['a.ts SLOW', expect.stringMatching(new RegExp(`^line 2: .*${growth}`))],
    ]);
  });

  test('a slow regular expression without a name is reported with its text', () => {
    expect([...slowIn('a.ts', 'text.split(/\\s*,\\s*/).map(trim);').keys()]).toEqual([
      'a.ts /\\s*,\\s*/',
    ]);
  });

  test.each([
    ['bounded digits', String.raw`/\b(?<tokens>\d{1,12}) tokens > (?<limit>\d{1,12}) maximum/`],
    ['an anchored class', String.raw`/^[\w.-]+$/`],
    ['a comment', '1 // (a+)+$'],
    ['a string', "'/(a+)+$/'"],
  ])('a fast regular expression is not reported: %s', (_, code) => {
    expect([...slowIn('a.ts', `const FAST = ${code};\n`)]).toEqual([]);
  });
});
