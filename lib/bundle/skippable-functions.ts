import ts from 'typescript';

/** Whether an arrow function uses what a `function` has itself. */
const usesOuterThis = (node: ts.Node): boolean =>
  node.kind === ts.SyntaxKind.ThisKeyword ||
  node.kind === ts.SyntaxKind.SuperKeyword ||
  ts.isMetaProperty(node) ||
  (ts.isIdentifier(node) && node.text === 'arguments') ||
  ts.forEachChild(node, (child) => usesOuterThis(child) || undefined) === true;

/** Characters. To skip shorter bodies too takes 2 KB, for 3 to 4 % of the import (medians of 31 processes at load 8 to 17). */
const MIN_BODY = 150;

/** The outermost arrow functions that have a block of some length as their body. */
const arrowsIn = (node: ts.Node): (ts.ArrowFunction & { body: ts.Block })[] => {
  if (ts.isArrowFunction(node)) {
    const { body } = node;
    const isLong = body.end - body.pos >= MIN_BODY;
    return ts.isBlock(body) && isLong && !usesOuterThis(node)
      ? [Object.assign(node, { body })]
      : [];
  }
  if (ts.isFunctionLike(node)) return [];
  const found: ReturnType<typeof arrowsIn> = [];
  ts.forEachChild(node, (child) => {
    found.push(...arrowsIn(child));
  });
  return found;
};

/**
 * Writes the outermost arrow functions of a CommonJS script as `function`: V8 skips the bodies of those until they are
 * called, but parses arrow functions inside a module's wrapper in full when it is loaded. It is a sixth of the import's
 * CPU for 2 % more bytes; esbuild's own `supported: { arrow: false }` writes the inner ones too, for 10 %.
 */
export const makeFunctionsSkippable = (script: string): string => {
  const source = ts.createSourceFile('index.js', script, ts.ScriptTarget.Latest);
  const pieces: string[] = [];
  let end = 0;
  for (const arrow of arrowsIn(source)) {
    const start = arrow.getStart(source);
    const [modifier] = arrow.modifiers ?? [];
    const head = script.slice(
      modifier?.end ?? start,
      arrow.equalsGreaterThanToken.getStart(source),
    );
    const parameters = head.trim().startsWith('(') ? head.trim() : `(${head.trim()})`;
    const keyword = modifier ? 'async function' : 'function';
    pieces.push(
      script.slice(end, start),
      keyword,
      parameters,
      script.slice(arrow.body.getStart(source), arrow.end),
    );
    end = arrow.end;
  }
  return pieces.join('') + script.slice(end);
};
