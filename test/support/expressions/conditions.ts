import { COMPARISONS, isSame } from '../../../local/database/write.ts';
import {
  createReader,
  expectToken,
  invalid,
  list,
  operand,
  type Reader,
  type Scope,
} from './expression-reader.ts';

export type Condition = (scope: Scope) => boolean;

const holdsIn = (container: unknown, value: unknown): boolean =>
  typeof container === 'string'
    ? typeof value === 'string' && container.includes(value)
    : Array.isArray(container) && container.some((one) => isSame(one, value));

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

export const compileCondition = (text: string): Condition => {
  const reader = createReader(text);
  const condition = either(reader);
  if (reader.peek() !== undefined) throw invalid(`Not understood: ${text}`);
  return condition;
};
