import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

const folder = fileURLToPath(new URL('..', import.meta.url));

/** First words of a title that needs its `describe` to be understood. */
const FORBIDDEN =
  /^(is|are|was|were|be|has|have|had|does|do|did|that|which|who|with|and|but|then|also|too|not|costs|gets|gives|goes|keeps|says|takes|tells|makes|lets|needs|wants|holds|stays|comes|ends|refuses|rejects|accepts|returns|sends|becomes|belongs|contains|reaches|finds|follows)\b/;

const textOf = (node: ts.Expression | undefined): string | undefined => {
  if (!node) return undefined;
  if (ts.isStringLiteralLike(node)) return node.text;
  return ts.isTemplateExpression(node) ? `${node.head.text}…` : undefined;
};

/** `test` or `it` for `test(…)`, `test.skipIf(…)(…)` and `test.each(…)(…)`. */
const calleeOf = (node: ts.Expression): string | undefined => {
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isCallExpression(node) || ts.isPropertyAccessExpression(node)) {
    return calleeOf(node.expression);
  }
  return undefined;
};

const titlesOf = (source: string): { title: string; line: number }[] => {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true);
  const titles: { title: string; line: number }[] = [];
  const visit = (node: ts.Node) => {
    ts.forEachChild(node, visit);
    if (!ts.isCallExpression(node)) return;
    if (!['test', 'it'].includes(calleeOf(node.expression) ?? '')) return;
    const [first] = node.arguments;
    const title = textOf(first);
    if (first === undefined || title === undefined) return;
    titles.push({ title, line: file.getLineAndCharacterOfPosition(first.getStart()).line + 1 });
  };
  visit(file);
  return titles;
};

const dependentTitles = (path: string, source: string): string[] =>
  titlesOf(source)
    .filter(({ title }) => FORBIDDEN.test(title))
    .map(({ title, line }) => `${path}:${line}: ${title}`);

const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
  /\.(test|contract)\.ts$/.test(path),
);

describe('test titles', () => {
  test('every test title is a sentence with a subject', () => {
    const found = files.flatMap((path) =>
      dependentTitles(path, readFileSync(join(folder, path), 'utf8')),
    );
    expect(files.length).toBeGreaterThan(10);
    expect(found).toEqual([]);
  });

  test.each([
    ['a test', "test('is refused', () => {});"],
    ['an it', "it('has a name', () => {});"],
    ['a table of tests', "test.each([1])('costs %s', () => {});"],
    ['a conditional test', "test.skipIf(true)('that ends', () => {});"],
    ['a template', `test(\`does \${1}\`, () => {});`],
  ])('a title without a subject is reported in %s', (_, source) => {
    expect(dependentTitles('a.test.ts', `\n${source}`)).toEqual([
      expect.stringMatching(/^a\.test\.ts:2: (is|has|costs|that|does) /),
    ]);
  });

  test.each([
    ['a sentence', "test('a refund is free', () => {});"],
    ['a template part', `test.each([1])(\`\${1} is refused\`, () => {});`],
    ['a placeholder', "test.each([1])('%s is refused', () => {});"],
    ['a describe', "describe('is a group', () => {});"],
    ['a method', "/x/.test('is a text');"],
  ])('%s at the start of a title is not reported', (_, source) => {
    expect(dependentTitles('a.test.ts', source)).toEqual([]);
  });
});
