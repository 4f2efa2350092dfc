import { isDeepStrictEqual } from 'node:util';
import {
  type DynamoCalls,
  DynamoError,
  type Item,
} from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { createLruCache, type LruCache } from '../../lambdas/support/lru-cache.ts';

/**
 * The part of DynamoDB's expression language that the stores use, evaluated on plain values: what a stored item means does
 * not depend on where it is stored. test/local/database/expressions.test.ts compares it with a DynamoDB.
 */
type Write = Pick<
  DynamoCalls['UpdateItem']['input'],
  | 'UpdateExpression'
  | 'ConditionExpression'
  | 'ExpressionAttributeNames'
  | 'ExpressionAttributeValues'
>;

type Scope = { item: Item; names: Record<string, string>; values: Item };
type Operand = (scope: Scope) => unknown;
type Condition = (scope: Scope) => boolean;
/** Changes `after`; right-hand sides see the item as it was. */
type Action = (scope: Scope, after: Item) => void;

const invalid = (reason: string): DynamoError =>
  new DynamoError('ValidationException', {
    ...{ status: 400, item: undefined },
    cause: new Error(reason),
  });

const TOKEN = /\s*(<=|>=|<>|[(),+=<>-]|[#:]?\w+)\s*/y;

const tokenize = (text: string): string[] => {
  const tokens: string[] = [];
  TOKEN.lastIndex = text.length - text.trimStart().length;
  while (TOKEN.lastIndex < text.length) {
    const token = TOKEN.exec(text)?.[1];
    if (token === undefined) throw invalid(`Not understood: ${text}`);
    tokens.push(token);
  }
  return tokens;
};

type Reader = {
  /** The next token, without taking it. */
  peek(): string | undefined;
  take(): string;
  /** Takes the token if it is the next one. */
  skip(token: string): boolean;
};

const createReader = (text: string): Reader => {
  const tokens = tokenize(text);
  let at = 0;
  const take = (): string => {
    const token = tokens[at];
    if (token === undefined) throw invalid(`Ends too early: ${text}`);
    at += 1;
    return token;
  };
  return {
    peek: () => tokens[at],
    take,
    skip: (token) => {
      if (tokens[at] !== token) return false;
      at += 1;
      return true;
    },
  };
};

const expectToken = (reader: Reader, token: string): void => {
  if (!reader.skip(token)) throw invalid(`Expected ${token}, got ${reader.peek()}`);
};

const nameIn = (token: string): ((scope: Scope) => string) => {
  if (!token.startsWith('#')) throw invalid(`Not a name: ${token}`);
  return ({ names }) => {
    const name = names[token];
    if (name === undefined) throw invalid(`No such name: ${token}`);
    return name;
  };
};

const operand = (reader: Reader): Operand => {
  const token = reader.take();
  if (token.startsWith('#')) {
    const nameOf = nameIn(token);
    return (scope) => scope.item[nameOf(scope)];
  }
  if (!token.startsWith(':')) throw invalid(`Not an operand: ${token}`);
  return ({ values }) => {
    const value = values[token];
    if (value === undefined) throw invalid(`No such value: ${token}`);
    return value;
  };
};

/** Operands in parentheses. */
const list = (reader: Reader): Operand[] => {
  expectToken(reader, '(');
  const operands = [operand(reader)];
  while (reader.skip(',')) operands.push(operand(reader));
  expectToken(reader, ')');
  return operands;
};

/** Undefined unless both are numbers, or both are texts. */
const order = (left: unknown, right: unknown): number | undefined => {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (typeof left !== 'string' || typeof right !== 'string') return undefined;
  if (left === right) return 0;
  return left < right ? -1 : 1;
};

const ordered =
  (accepts: (difference: number) => boolean) =>
  (left: unknown, right: unknown): boolean => {
    const difference = order(left, right);
    return difference !== undefined && accepts(difference);
  };

const isSame = (left: unknown, right: unknown): boolean =>
  left === right || (typeof left === 'object' && isDeepStrictEqual(left, right));

const COMPARISONS: Record<string, (left: unknown, right: unknown) => boolean> = {
  '=': (left, right) => left !== undefined && isSame(left, right),
  '<>': (left, right) => !isSame(left, right),
  '<': ordered((difference) => difference < 0),
  '<=': ordered((difference) => difference <= 0),
  '>': ordered((difference) => difference > 0),
  '>=': ordered((difference) => difference >= 0),
};

const holdsIn = (container: unknown, value: unknown): boolean =>
  typeof container === 'string'
    ? typeof value === 'string' && container.includes(value)
    : Array.isArray(container) && container.some((one) => isSame(one, value));

/** Conditions that are written as functions. */
const FUNCTIONS: Record<string, (values: unknown[]) => boolean> = {
  attribute_exists: ([value]) => value !== undefined,
  attribute_not_exists: ([value]) => value === undefined,
  contains: ([container, value]) => holdsIn(container, value),
};

const comparison = (reader: Reader): Condition => {
  const left = operand(reader);
  if (reader.skip('IN')) {
    const candidates = list(reader);
    return (scope) => {
      const value = left(scope);
      return value !== undefined && candidates.some((one) => isSame(value, one(scope)));
    };
  }
  const operator = reader.take();
  const compare = COMPARISONS[operator];
  if (!compare) throw invalid(`No such operator: ${operator}`);
  const right = operand(reader);
  return (scope) => compare(left(scope), right(scope));
};

const term = (reader: Reader): Condition => {
  if (reader.skip('NOT')) {
    const negated = term(reader);
    return (scope) => !negated(scope);
  }
  if (reader.skip('(')) {
    const inner = either(reader);
    expectToken(reader, ')');
    return inner;
  }
  const test = FUNCTIONS[reader.peek() ?? ''];
  if (!test) return comparison(reader);
  reader.take();
  const operands = list(reader);
  return (scope) => test(operands.map((one) => one(scope)));
};

const chain = (reader: Reader, word: string, part: (reader: Reader) => Condition) => {
  const parts = [part(reader)];
  while (reader.skip(word)) parts.push(part(reader));
  return parts;
};

const both = (reader: Reader): Condition => {
  const parts = chain(reader, 'AND', term);
  return (scope) => parts.every((part) => part(scope));
};

/** `NOT` binds closer than `AND`, and `AND` closer than `OR`. */
const either = (reader: Reader): Condition => {
  const parts = chain(reader, 'OR', both);
  return (scope) => parts.some((part) => part(scope));
};

const numberIn = (value: unknown): number => {
  if (typeof value !== 'number') throw invalid('Only numbers are added.');
  return value;
};

const summand = (reader: Reader): Operand => {
  if (!reader.skip('if_not_exists')) return operand(reader);
  const [attribute, other] = list(reader);
  if (!attribute || !other) throw invalid('if_not_exists has two operands.');
  return (scope) => attribute(scope) ?? other(scope);
};

/** An operand, or the sum or difference of two. */
const assigned = (reader: Reader): Operand => {
  const left = summand(reader);
  const sign = reader.skip('+') ? 1 : reader.skip('-') ? -1 : 0;
  if (sign === 0) return left;
  const right = summand(reader);
  return (scope) => numberIn(left(scope)) + sign * numberIn(right(scope));
};

/** What the database keeps is shared with those who read it. */
const frozen = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? deepFreeze(structuredClone(value)) : value;

const deepFreeze = (value: object): object => {
  for (const member of Object.values(value)) {
    if (typeof member === 'object' && member !== null) deepFreeze(member);
  }
  return Object.freeze(value);
};

const CLAUSES: Record<string, (reader: Reader) => Action> = {
  SET: (reader) => {
    const nameOf = nameIn(reader.take());
    expectToken(reader, '=');
    const evaluate = assigned(reader);
    return (scope, after) => {
      const value = evaluate(scope);
      if (value === undefined) throw invalid('An attribute of the update is absent.');
      after[nameOf(scope)] = frozen(value);
    };
  },
  REMOVE: (reader) => {
    const nameOf = nameIn(reader.take());
    return (scope, after) => {
      delete after[nameOf(scope)];
    };
  },
  ADD: (reader) => {
    const nameOf = nameIn(reader.take());
    const evaluate = operand(reader);
    return (scope, after) => {
      const name = nameOf(scope);
      after[name] = numberIn(scope.item[name] ?? 0) + numberIn(evaluate(scope));
    };
  },
};

const compileUpdate = (text: string): Action => {
  const reader = createReader(text);
  const actions: Action[] = [];
  while (reader.peek() !== undefined) {
    const verb = reader.take();
    const clause = CLAUSES[verb];
    if (!clause) throw invalid(`No such clause: ${verb}`);
    do actions.push(clause(reader));
    while (reader.skip(','));
  }
  return (scope, after) => {
    for (const action of actions) action(scope, after);
  };
};

const compileCondition = (text: string): Condition => {
  const reader = createReader(text);
  const condition = either(reader);
  if (reader.peek() !== undefined) throw invalid(`Not understood: ${text}`);
  return condition;
};

/** The stores send few expressions, thousands of times. */
const KEPT = 1_000;
const updates = createLruCache<Action>(KEPT);
const conditions = createLruCache<Condition>(KEPT);

const compiled = <Value>(
  cache: LruCache<Value>,
  text: string,
  compile: (text: string) => Value,
): Value => {
  const known = cache.get(text);
  if (known) return known;
  const made = compile(text);
  cache.set(text, made);
  return made;
};

/** The item after a write; undefined if its condition does not hold. @throws DynamoError for an invalid expression */
export const afterWrite = (item: Item, write: Write): Item | undefined => {
  const { UpdateExpression, ConditionExpression } = write;
  const { ExpressionAttributeNames: names = {}, ExpressionAttributeValues: values = {} } = write;
  const scope = { item, names, values };
  const update = compiled(updates, UpdateExpression, compileUpdate);
  if (
    ConditionExpression !== undefined &&
    !compiled(conditions, ConditionExpression, compileCondition)(scope)
  ) {
    return undefined;
  }
  const after = { ...item };
  update(scope, after);
  return after;
};
