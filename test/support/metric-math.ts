/**
 * The part of CloudWatch's metric math that the template's alarms use: numbers, variables, arithmetic,
 * comparisons, AND, OR, FILL(x,0), IF, and YEAR, MONTH and DATE of a period. Anything else is an error.
 */

/** Value of a variable or expression in one period; undefined: no data. */
export type Value = number | undefined;
type Variables = (name: string) => Value;
type Node = (variables: Variables) => Value;

/** Name of the variable that holds the beginning of the period in ms: no expression can spell it. */
export const PERIOD = '@period';
const datePart = (read: (date: Date) => number) => () => (variables: Variables) =>
  read(new Date(variables(PERIOD) ?? Number.NaN));

const TOKEN = /\s*(\d+(?:\.\d+)?|[A-Za-z_]\w*|>=|<=|[-+*/(),<>])/y;

const tokensOf = (expression: string): string[] => {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < expression.length) {
    const from = TOKEN.lastIndex;
    const token = TOKEN.exec(expression)?.[1];
    if (token === undefined) throw new Error(`unknown syntax at ${from} of ${expression}`);
    tokens.push(token);
  }
  return tokens;
};

const OPERATORS: Record<string, (left: number, right: number) => Value> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  // CloudWatch has no data point where the divisor is 0.
  '/': (left, right) => (right === 0 ? undefined : left / right),
  '>=': (left, right) => Number(left >= right),
  '<=': (left, right) => Number(left <= right),
  '>': (left, right) => Number(left > right),
  '<': (left, right) => Number(left < right),
  AND: (left, right) => Number(left !== 0 && right !== 0),
  OR: (left, right) => Number(left !== 0 || right !== 0),
};

/** Weakest first. */
const LEVELS = [['OR'], ['AND'], ['>=', '<=', '>', '<'], ['+', '-'], ['*', '/']];

const FUNCTIONS: Record<string, (args: Node[]) => Node> = {
  YEAR: datePart((date) => date.getUTCFullYear()),
  MONTH: datePart((date) => date.getUTCMonth() + 1),
  DATE: datePart((date) => date.getUTCDate()),
  FILL: ([series, filling]) => {
    return (variables) => series?.(variables) ?? filling?.(variables);
  },
  IF: ([condition, yes, no]) => {
    return (variables) => {
      const holds = condition?.(variables);
      if (holds === undefined) return undefined;
      return holds !== 0 ? yes?.(variables) : no?.(variables);
    };
  },
};

const binary =
  (operator: string, left: Node, right: Node): Node =>
  (variables) => {
    const [a, b] = [left(variables), right(variables)];
    return a === undefined || b === undefined ? undefined : OPERATORS[operator]?.(a, b);
  };

/** Compiles an expression. @throws Error on syntax that is not used so far */
export const compileMath = (expression: string): Node => {
  const tokens = tokensOf(expression);
  let at = 0;
  const next = () => tokens[at++] ?? '';
  const expectToken = (wanted: string) => {
    const token = next();
    if (token !== wanted) throw new Error(`"${token}" instead of "${wanted}" in ${expression}`);
  };
  const call = (name: string): Node => {
    const create = FUNCTIONS[name];
    if (!create) throw new Error(`unknown function ${name} in ${expression}`);
    const args: Node[] = [];
    do {
      next();
      args.push(level(0));
    } while (tokens[at] === ',');
    expectToken(')');
    return create(args);
  };
  const primary = (): Node => {
    const token = next();
    if (token === '(') {
      const inner = level(0);
      expectToken(')');
      return inner;
    }
    if (/^\d/.test(token)) return () => Number(token);
    if (!/^[A-Za-z_]/.test(token)) throw new Error(`unexpected "${token}" in ${expression}`);
    return tokens[at] === '(' ? call(token) : (variables) => variables(token);
  };
  const level = (depth: number): Node => {
    const operators = LEVELS[depth];
    if (!operators) return primary();
    let left = level(depth + 1);
    while (operators.includes(tokens[at] ?? '')) left = binary(next(), left, level(depth + 1));
    return left;
  };
  const whole = level(0);
  if (at < tokens.length) throw new Error(`unexpected "${tokens[at]}" in ${expression}`);
  return whole;
};
