import ts from 'typescript';

/** One change of a source file: `text` in place of what is between two places. */
export type Mutant = {
  file: string;
  line: number;
  start: number;
  end: number;
  text: string;
  /** What a run marks to see that a test reaches it: an expression, or statements. */
  form: 'expression' | 'statement';
};

const SWAPS: Partial<Record<ts.SyntaxKind, string[]>> = {
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: ['!=='],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: ['==='],
  [ts.SyntaxKind.LessThanToken]: ['<=', '>='],
  [ts.SyntaxKind.LessThanEqualsToken]: ['<', '>'],
  [ts.SyntaxKind.GreaterThanToken]: ['>=', '<='],
  [ts.SyntaxKind.GreaterThanEqualsToken]: ['>', '<'],
  [ts.SyntaxKind.AmpersandAmpersandToken]: ['||'],
  [ts.SyntaxKind.BarBarToken]: ['&&'],
  [ts.SyntaxKind.PlusToken]: ['-'],
  [ts.SyntaxKind.MinusToken]: ['+'],
};

type Change = { node: ts.Node; text: string; form: Mutant['form'] };

const isNegation = (node: ts.Node): node is ts.PrefixUnaryExpression =>
  ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken;

/** A negation loses its mark (`changesOfBoolean`). */
const negated = (node: ts.Expression): Change[] =>
  isNegation(node) ? [] : [{ node, text: `!(${node.getText()})`, form: 'expression' }];

/** As `undefined` is, in whose place it would be; `false` becomes `true` instead. */
const isFalsy = (node: ts.Expression): boolean =>
  (ts.isIdentifier(node) && node.text === 'undefined') || node.kind === ts.SyntaxKind.FalseKeyword;

const isConstant = (node: ts.Expression): boolean =>
  ts.isLiteralExpression(node) ||
  ts.isIdentifier(node) ||
  ts.isArrowFunction(node) ||
  isFalsy(node);

const changesOfBinary = (node: ts.BinaryExpression): Change[] => {
  const { left, operatorToken, right } = node;
  if (operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken) {
    return [{ node, text: left.getText(), form: 'expression' }];
  }
  return (SWAPS[operatorToken.kind] ?? []).map((operator) => ({
    ...{ node, form: 'expression' as const },
    text: `${left.getText()} ${operator} ${right.getText()}`,
  }));
};

const isDroppable = ({ expression }: ts.ExpressionStatement): boolean =>
  ts.isCallExpression(expression) ||
  ts.isAwaitExpression(expression) ||
  ts.isBinaryExpression(expression) ||
  ts.isDeleteExpression(expression);

/** Of a part that decides: its condition is negated. */
const changesOfCondition = (node: ts.Node): Change[] => {
  if (ts.isIfStatement(node) || ts.isWhileStatement(node)) return negated(node.expression);
  if (ts.isConditionalExpression(node)) return negated(node.condition);
  return ts.isForStatement(node) && node.condition ? negated(node.condition) : [];
};

const isEmptied = (node: ts.Block): boolean =>
  node.statements.length > 0 && !ts.isTryStatement(node.parent);

/** Of what is done or returned: it is not. */
const changesOfEffect = (node: ts.Node): Change[] => {
  if (ts.isExpressionStatement(node) && isDroppable(node)) {
    return [{ node, text: ';', form: 'statement' }];
  }
  if (ts.isReturnStatement(node) && node.expression && !isFalsy(node.expression)) {
    return [{ node, text: 'return undefined;', form: 'statement' }];
  }
  if (ts.isBlock(node) && isEmptied(node)) return [{ node, text: '{}', form: 'statement' }];
  if (ts.isArrowFunction(node) && !ts.isBlock(node.body) && !isConstant(node.body)) {
    return [{ node: node.body, text: '(undefined)', form: 'expression' }];
  }
  return [];
};

const changesOfBoolean = (node: ts.Node): Change[] => {
  if (isNegation(node)) {
    return [{ node, text: node.operand.getText(), form: 'expression' }];
  }
  const isTrue = node.kind === ts.SyntaxKind.TrueKeyword;
  const isBoolean = isTrue || node.kind === ts.SyntaxKind.FalseKeyword;
  if (!isBoolean || ts.isLiteralTypeNode(node.parent)) return [];
  return [{ node, text: String(!isTrue), form: 'expression' }];
};

/** The changes of one node, not of those in it. */
const changesOf = (node: ts.Node): Change[] => [
  ...(ts.isBinaryExpression(node) ? changesOfBinary(node) : []),
  ...changesOfCondition(node),
  ...changesOfEffect(node),
  ...changesOfBoolean(node),
];

/** All mutants of a file: negated conditions, other operators, dropped calls, empty blocks and returns. */
export const mutantsOf = (file: string, code: string): Mutant[] => {
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true);
  const found: Mutant[] = [];
  const visit = (node: ts.Node): void => {
    for (const { node: changed, text, form } of changesOf(node)) {
      const [start, end] = [changed.getStart(), changed.getEnd()];
      const line = source.getLineAndCharacterOfPosition(start).line + 1;
      found.push({ file, line, start, end, text, form });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
};

/** The file with one mutant. */
export const withMutant = (code: string, { start, end, text }: Mutant): string =>
  code.slice(0, start) + text + code.slice(end);

/** The file that marks each of its mutants as reached, by its number from `first` on. */
export const withMarks = (code: string, mutants: Mutant[], first: number): string => {
  const inserts = mutants.flatMap(({ start, end, form }, index) => {
    const mark = `globalThis.__reach?.(${first + index})`;
    const size = end - start;
    const isBlock = form === 'statement' && code[start] === '{';
    // Of those that begin at one place the longest is outside; of those that end at one, too.
    if (isBlock) return [{ at: start + 1, order: 0, text: `${mark};` }];
    const [before, after] = form === 'statement' ? [`{${mark};`, '}'] : [`(${mark}, (`, '))'];
    return [
      { at: start, order: -size, text: before },
      { at: end, order: size - code.length, text: after },
    ];
  });
  const sorted = inserts.toSorted((one, other) => one.at - other.at || one.order - other.order);
  let marked = '';
  let done = 0;
  for (const { at, text } of sorted) {
    marked += code.slice(done, at) + text;
    done = at;
  }
  return marked + code.slice(done);
};
