import { createLruCache } from '../../lambdas/support/lru-cache.ts';

/**
 * The part of DynamoDB's expression language that our writes use, evaluated in memory, so that a simulation
 * runs the very expressions that production sends. Anything else throws.
 */
export type Item = Record<string, unknown>;
export type Bound = { names: Record<string, string>; values: Record<string, unknown> };

type Scope = Bound & { item: Item };

const TOKEN = /\s*([(),+]|<=|>=|<|>|=|[#:]?\w+)/y;

/** Tokens of each expression: the stores send few, thousands of times. */
const tokenized = createLruCache<string[]>(1_000);

const tokenize = (text: string): string[] => {
  const known = tokenized.get(text);
  if (known) return known;
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const token = TOKEN.exec(text)?.[1];
    if (token === undefined) throw new Error(`Not understood: ${text}`);
    tokens.push(token);
  }
  tokenized.set(text, tokens);
  return tokens;
};

const nameOf = (token: string, { names }: Bound): string => {
  const name = names[token];
  if (name === undefined) throw new Error(`No such name: ${token}`);
  return name;
};

const operandOf = (token: string, scope: Scope): unknown => {
  if (token.startsWith('#')) return scope.item[nameOf(token, scope)];
  if (!(token in scope.values)) throw new Error(`No such value: ${token}`);
  return scope.values[token];
};

const compare = (left: unknown, operator: string, right: unknown): boolean => {
  if (operator === '=') return left === right;
  // DynamoDB compares only what is there and of one type.
  if (typeof left !== 'number' || typeof right !== 'number') return false;
  if (operator === '<') return left < right;
  if (operator === '>') return left > right;
  if (operator === '>=') return left >= right;
  if (operator === '<=') return left <= right;
  throw new Error(`No such operator: ${operator}`);
};

/** `AND` binds closer than `OR`; both are evaluated left to right. */
const createParser = (tokens: string[], scope: Scope) => {
  let at = 0;
  const next = (): string => {
    const token = tokens[at];
    if (token === undefined) throw new Error('The expression ends too early.');
    at += 1;
    return token;
  };
  const existence = (): boolean => {
    next();
    const exists = scope.item[nameOf(next(), scope)] !== undefined;
    next();
    return exists;
  };
  const term = (): boolean => {
    const token = next();
    if (token === '(') {
      const inner = either();
      next();
      return inner;
    }
    if (token === 'attribute_exists') return existence();
    if (token === 'attribute_not_exists') return !existence();
    return compare(operandOf(token, scope), next(), operandOf(next(), scope));
  };
  const chain = (word: string, part: () => boolean): boolean[] => {
    const results = [part()];
    while (tokens[at] === word) {
      next();
      results.push(part());
    }
    return results;
  };
  const both = (): boolean => chain('AND', term).every(Boolean);
  const either = (): boolean => chain('OR', both).some(Boolean);
  return either;
};

export const holds = (condition: string | undefined, item: Item, bound: Bound): boolean =>
  condition === undefined || createParser(tokenize(condition), { ...bound, item })();

/** The right-hand side of SET: operands and `if_not_exists(name, operand)`, added up. */
const assignedOf = (tokens: string[], scope: Scope): unknown => {
  const plus = tokens.lastIndexOf('+');
  if (plus !== -1) {
    const [left, right] = [tokens.slice(0, plus), tokens.slice(plus + 1)];
    return Number(assignedOf(left, scope)) + Number(assignedOf(right, scope));
  }
  const [first = '', , name = '', , other = ''] = tokens; // `if_not_exists ( name , operand )`
  return first === 'if_not_exists'
    ? (operandOf(name, scope) ?? operandOf(other, scope))
    : operandOf(first, scope);
};

/** The parts of a clause: commas within parentheses do not separate them. */
const SEPARATOR = /,(?![^(]*\))/;

const CLAUSE = /\b(SET|REMOVE|ADD)\b(.*?)(?=\b(?:SET|REMOVE|ADD)\b|$)/gs;

/** The item after an update. Right-hand sides see the item as it was. */
export const updated = (update: string, item: Item, bound: Bound): Item => {
  const scope = { ...bound, item };
  const after = { ...item };
  for (const [, verb, list = ''] of update.matchAll(CLAUSE)) {
    for (const part of list.split(SEPARATOR)) {
      const [target = '', ...rest] = tokenize(part);
      const name = nameOf(target, bound);
      if (verb === 'REMOVE') delete after[name];
      else if (verb === 'SET') after[name] = assignedOf(rest.slice(1), scope);
      else after[name] = Number(item[name] ?? 0) + Number(operandOf(rest[0] ?? '', scope));
    }
  }
  return after;
};
