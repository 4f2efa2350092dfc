import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A text of an error in the code, with `{…}` for what it names, and its status. */
export type ErrorText = { text: string; status: string };

/** What makes an error of a text (support/errors.ts), and its status without `options.status`. */
const STATUS: Record<string, number> = {
  invalidRequest: 400,
  unauthenticated: 401,
  quotaExhausted: 402,
  notFound: 404,
  rateLimited: 429,
  apiError: 500,
  retryLater: 503,
};

/** The same of `ApiError` by its type. */
const TYPE_STATUS: Record<string, number> = {
  invalid_request_error: 400,
  insufficient_quota: 402,
  rate_limit_error: 429,
  api_error: 500,
};

type Call = ts.CallExpression | ts.NewExpression;
/** A function that puts an argument into its text. */
type Wrapper = ErrorText;

const named = (node: ts.Node): string => `{${node.getText().replaceAll(/\s+/g, ' ')}}`;
const isName = (text: string): boolean => /^\{[^{}]*\}$/.test(text);

const parametersOf = (wrapper: ts.ArrowFunction): string[] =>
  wrapper.parameters.map(({ name }) => name.getText());

/** The function with a parameter in the text, which may return the one that makes the error. */
const wrapperOf = (text: string, call: ts.Node): ts.ArrowFunction | undefined => {
  const takes = (node: ts.Node): node is ts.ArrowFunction =>
    ts.isArrowFunction(node) && parametersOf(node).some((name) => text.includes(`{${name}}`));
  return ts.findAncestor(call.parent, takes);
};

/** `{status}` of one that is a parameter. */
const statusIn = (options: ts.Expression | undefined): string | undefined => {
  if (!options || !ts.isObjectLiteralExpression(options)) return undefined;
  const status = options.properties.find((one) => one.name?.getText() === 'status');
  if (status && ts.isShorthandPropertyAssignment(status)) return named(status.name);
  const value = status && ts.isPropertyAssignment(status) ? status.initializer.getText() : '';
  return /^\d+$/.test(value) ? value : undefined;
};

/** The argument of a call that a status is, or what the parameter is without one. */
const statusAt = (status: string, call: Call, { parameters }: ts.ArrowFunction): string => {
  const at = parameters.findIndex(({ name }) => `{${name.getText()}}` === status);
  return (call.arguments?.[at] ?? parameters[at]?.initializer)?.getText() ?? status;
};

const returnsOf = ({ body }: ts.ArrowFunction): ts.Expression[] => {
  if (!ts.isBlock(body)) return [body];
  const found: ts.Expression[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isReturnStatement(node) && node.expression) found.push(node.expression);
    else if (!ts.isFunctionLike(node)) ts.forEachChild(node, visit);
  };
  visit(body);
  return found;
};

const createReader = (checker: ts.TypeChecker) => {
  const wrappers = new Map<ts.Node, Wrapper[]>();
  /** Texts of wrappers in which a caller puts its own. */
  const filled = new Set<string>();

  const declarationOf = (node: ts.Node): ts.Declaration | undefined => {
    const symbol = checker.getSymbolAtLocation(node);
    const isAlias = symbol !== undefined && (symbol.flags & ts.SymbolFlags.Alias) !== 0;
    return (isAlias ? checker.getAliasedSymbol(symbol) : symbol)?.valueDeclaration;
  };
  const initializerOf = (node: ts.Node): ts.Expression | undefined => {
    // A member is no variable; to find it, the compiler would infer the type of its object.
    const declaration = ts.isIdentifier(node) ? declarationOf(node) : undefined;
    return declaration && ts.isVariableDeclaration(declaration)
      ? declaration.initializer
      : undefined;
  };

  /** A member of the objects that an expression may be. */
  const memberOf = (object: ts.Expression, name: string): ts.Expression[] =>
    valuesOf(object).flatMap((value) => {
      if (!ts.isObjectLiteralExpression(value)) return [];
      const member = value.properties.find((one) => one.name?.getText() === name);
      return member && ts.isPropertyAssignment(member) ? valuesOf(member.initializer) : [];
    });

  const ofIdentifier = (node: ts.Identifier): ts.Expression[] => {
    const declaration = declarationOf(node);
    if (declaration && ts.isBindingElement(declaration)) {
      const { initializer } = ts.findAncestor(declaration, ts.isVariableDeclaration) ?? {};
      return initializer ? memberOf(initializer, node.text) : [];
    }
    const value = initializerOf(node);
    return value ? valuesOf(value) : [];
  };

  const partsOf = (node: ts.Expression): ts.Expression[] => {
    if (ts.isParenthesizedExpression(node)) return [node.expression];
    if (ts.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse];
    if (ts.isBinaryExpression(node))
      return node.operatorToken.kind === ts.SyntaxKind.PlusToken ? [] : [node.left, node.right];
    const of = ts.isElementAccessExpression(node) ? initializerOf(node.expression) : undefined;
    if (!of || !ts.isObjectLiteralExpression(of)) return [];
    return of.properties.filter(ts.isPropertyAssignment).map(({ initializer }) => initializer);
  };

  /** The expressions that one may be: of a condition both, of a call what it returns. */
  const valuesOf = (node: ts.Expression): ts.Expression[] => {
    const parts = partsOf(node);
    if (parts.length > 0) return parts.flatMap(valuesOf);
    const called = ts.isCallExpression(node) ? initializerOf(node.expression) : undefined;
    if (called && ts.isArrowFunction(called)) return returnsOf(called).flatMap(valuesOf);
    const known = ts.isIdentifier(node) ? ofIdentifier(node) : [];
    return known.length > 0 ? known : [node];
  };

  const textsOf = (whole: ts.Expression): string[] =>
    valuesOf(whole).flatMap((node) => {
      if (ts.isStringLiteralLike(node)) return [node.text];
      if (ts.isBinaryExpression(node)) {
        const after = textsOf(node.right);
        return textsOf(node.left).flatMap((one) => after.map((other) => one + other));
      }
      if (!ts.isTemplateExpression(node)) return [named(node)];
      return node.templateSpans.reduce(
        (before, { expression, literal }) => {
          const values = ts.isIdentifier(expression) ? textsOf(expression) : [named(expression)];
          const shown = values.some(isName) ? [named(expression)] : values;
          return before.flatMap((text) => shown.map((value) => text + value + literal.text));
        },
        [node.head.text],
      );
    });

  /** The texts of a call, in which the arguments stand for parameters where they are texts. */
  const textsAt = (call: Call): Wrapper[] => {
    const name = call.expression.getText();
    const isPlain = name === 'ApiError';
    const [first, second] = (call.arguments ?? []).slice(isPlain ? 1 : 0);
    const types = call.arguments?.[0]?.getText().match(/(?<=')\w+_\w+(?=')/g) ?? [];
    const base = isPlain
      ? types.flatMap((type) => TYPE_STATUS[type] ?? []).join(' or ')
      : STATUS[name]?.toString();
    if (base && first)
      return textsOf(first).map((text) => ({ text, status: statusIn(second) ?? base }));
    const target = initializerOf(call.expression);
    if (!target || !ts.isArrowFunction(target)) return [];
    const names = parametersOf(target);
    const fill = (text: string, at: number): string[] => {
      const hole = `{${names[at]}}`;
      const argument = call.arguments?.[at];
      const values = argument && text.includes(hole) ? textsOf(argument) : [];
      if (values.length === 0 || values.some(isName)) return [text];
      filled.add(text);
      return values.map((value) => text.replace(hole, value));
    };
    return (wrappers.get(target) ?? []).flatMap(({ text, status }) =>
      [...names.keys()]
        .reduce((all, at) => all.flatMap((one) => fill(one, at)), [text])
        .map((one) => ({ text: one, status: statusAt(status, call, target) })),
    );
  };

  return { wrappers, filled, textsAt };
};

/** Every text that the functions of support/errors.ts are called with, also through functions that wrap them. */
export const errorTexts = (): ErrorText[] => {
  const files = globSync('lambdas/**/*.ts', { cwd: ROOT }).map((file) => ROOT + file);
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    target: ts.ScriptTarget.ESNext,
    allowImportingTsExtensions: true,
    resolveJsonModule: true,
    noEmit: true,
    types: [],
    noLib: true,
  });
  const checker = program.getTypeChecker();
  const { wrappers, filled, textsAt } = createReader(checker);
  const calls: Call[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) calls.push(node);
    ts.forEachChild(node, visit);
  };
  const sources = program.getSourceFiles().filter(({ fileName }) => files.includes(fileName));
  for (const source of sources) visit(source);
  /** The statuses of each text. */
  const found = new Map<string, Set<string>>();
  const note = (call: Call, one: ErrorText): void => {
    found.set(one.text, (found.get(one.text) ?? new Set()).add(one.status));
    const wrapper = wrapperOf(one.text, call);
    if (!wrapper) return;
    const before = wrappers.get(wrapper) ?? [];
    if (!before.some(({ text }) => text === one.text)) wrappers.set(wrapper, [...before, one]);
  };
  // A wrapper may wrap another one.
  for (let round = 0; round < 3; round += 1) {
    for (const call of calls) for (const one of textsAt(call)) note(call, one);
  }
  for (const text of filled) found.delete(text);
  // Of all places of a body one is listed.
  const short = [...found].map(([text, statuses]) => ({
    status: [...statuses].toSorted().join(' or '),
    text: text.replace(/^\{param\}[^:]*:/, '{param}:'),
  }));
  return [...new Map(short.map((one) => [one.text, one])).values()];
};
