import { isDeepStrictEqual } from 'node:util';
import { DynamoError, type Item } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import {
  attributeIn,
  type Condition,
  comparisonIn,
  type Write,
} from '../../lambdas/stores/dynamo/item-write.ts';

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

export const isSame = (left: unknown, right: unknown): boolean =>
  left === right || (typeof left === 'object' && isDeepStrictEqual(left, right));

/** What each comparison means, as DynamoDB has it. */
export const COMPARISONS: Record<string, (left: unknown, right: unknown) => boolean> = {
  'is absent': (left) => left === undefined,
  'is present': (left) => left !== undefined,
  lacks: (left, part) => typeof left !== 'string' || !left.includes(String(part)),
  '=': (left, right) => left !== undefined && isSame(left, right),
  '<>': (left, right) => !isSame(left, right),
  '<': ordered((difference) => difference < 0),
  '<=': ordered((difference) => difference <= 0),
  '>': ordered((difference) => difference > 0),
  '>=': ordered((difference) => difference >= 0),
};

const holds = (item: Item, condition: Condition): boolean => {
  if ('anyOf' in condition)
    return condition.anyOf.some((all) => all.every((one) => holds(item, one)));
  const [attribute, operator, right] = condition;
  const { comparison, orAbsent } = comparisonIn(operator);
  const left = item[attribute];
  if (orAbsent && left === undefined) return true;
  const other = attributeIn(right);
  return COMPARISONS[comparison]?.(left, other === undefined ? right : item[other]) === true;
};

const deepFreeze = (value: object): object => {
  for (const member of Object.values(value)) {
    if (typeof member === 'object' && member !== null) deepFreeze(member);
  }
  return Object.freeze(value);
};

/** What the database keeps is shared with those who read it. */
const frozen = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? deepFreeze(structuredClone(value)) : value;

/** As DynamoDB refuses to add to a text. */
const numberIn = (value: unknown): number => {
  if (typeof value === 'number') return value;
  const cause = new Error('Only numbers are added.');
  throw new DynamoError('ValidationException', { status: 400, item: undefined, cause });
};

/**
 * The item after a write; undefined if a condition does not hold: what a stored item means does not depend on where it is
 * stored. test/local/database/write.test.ts compares it with a DynamoDB. @throws DynamoError
 */
export const afterWrite = (item: Item, write: Write): Item | undefined => {
  const { set, remove = [], add, conditions = [] } = write;
  if (!conditions.every((one) => holds(item, one))) return undefined;
  // A dictionary from the start: V8 keeps a shape for each set of names, and each request's mark has a name that no other has.
  const after: Item = Object.create(null);
  for (const name in item) after[name] = item[name];
  for (const name in set) if (set[name] !== undefined) after[name] = frozen(set[name]);
  for (const name of remove) delete after[name];
  for (const name in add) after[name] = numberIn(item[name] ?? 0) + (add[name] ?? 0);
  return after;
};
