import type { Item } from '../../../lambdas/stores/dynamo/dynamo-client.ts';
import { createLruCache, type LruCache } from '../../../lambdas/support/memo.ts';
import { type Condition, compileCondition } from './conditions.ts';
import {
  createReader,
  expectToken,
  invalid,
  list,
  nameIn,
  type Operand,
  operand,
  type Reader,
  type Scope,
} from './expression-reader.ts';

/**
 * The part of DynamoDB's expression language that the stores of this release and the one before use, evaluated on plain
 * values, for simulations of a table.
 */
type Write = {
  UpdateExpression: string;
  ConditionExpression?: string | undefined;
  ExpressionAttributeNames?: Record<string, string> | undefined;
  ExpressionAttributeValues?: Item | undefined;
};

/** Changes `after`; right-hand sides see the item as it was. */
type Action = (scope: Scope, after: Item) => void;

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
