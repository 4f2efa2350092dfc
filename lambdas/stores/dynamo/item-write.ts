import { TTL_ATTRIBUTE } from '../../tables.ts';

type Comparison = '=' | '<>' | '<' | '<=' | '>' | '>=';

/**
 * An attribute that is absent or present, that compares to a value or to `{ attribute }`, that is absent or compares to it, or
 * a text that lacks a part. `anyOf`: all conditions of one of these lists hold.
 */
export type Condition =
  | [attribute: string, is: 'is absent' | 'is present']
  | [attribute: string, operator: Comparison | `${Comparison} or absent` | 'lacks', value: unknown]
  | { anyOf: Condition[][] };

/** A write as data: the attributes that it changes, and the conditions that all hold. */
export type Write = {
  /** A member that is undefined changes nothing. */
  set?: Record<string, unknown>;
  remove?: readonly string[];
  add?: Record<string, number>;
  conditions?: Condition[];
  /**
   * `NONE` where no caller reads the item that the write leaves, which may have kilobytes.
   * @default 'ALL_NEW'
   */
  returns?: 'ALL_NEW' | 'NONE';
};

/** A count that may be absent while it is 0. */
export const counts = (attribute: string, count: number): Condition => [
  attribute,
  count > 0 ? '=' : '= or absent',
  count,
];

/** An attribute that nothing has changed since it was read; undefined: it was absent. */
export const asSeen = (attribute: string, seen: unknown): Condition =>
  seen === undefined ? [attribute, 'is absent'] : [attribute, '=', seen];

/** For `set`: the item may be deleted from that instant (ms) on. */
export const expiring = (at: number) => ({ [TTL_ATTRIBUTE]: Math.ceil(at / 1_000) });

/** Sets the attributes that have a value, and removes the others. */
export const replacing = (attributes: Record<string, unknown>) => ({
  set: attributes,
  remove: Object.keys(attributes).filter((name) => attributes[name] === undefined),
});

const summed = (one: Record<string, number> = {}, other: Record<string, number> = {}) => {
  const sums = { ...one };
  for (const attribute of Object.keys(other)) {
    sums[attribute] = (sums[attribute] ?? 0) + (other[attribute] ?? 0);
  }
  return sums;
};

/** Both writes of an item as one: what they add is summed, and they set different attributes. */
export const joined = (one: Write, other: Write): Write => ({
  ...one,
  set: { ...one.set, ...other.set },
  remove: [...(one.remove ?? []), ...(other.remove ?? [])],
  add: summed(one.add, other.add),
  conditions: [...(one.conditions ?? []), ...(other.conditions ?? [])],
});

/** The attribute to which a condition compares another one. */
export const attributeIn = (operand: unknown): string | undefined =>
  typeof operand === 'object' && operand !== null && 'attribute' in operand
    ? String(operand.attribute)
    : undefined;

const OR_ABSENT = ' or absent';

/** The comparison of an operator, and whether the attribute may be absent. */
export const comparisonIn = (operator: string): { comparison: string; orAbsent: boolean } =>
  operator.endsWith(OR_ABSENT)
    ? { comparison: operator.slice(0, -OR_ABSENT.length), orAbsent: true }
    : { comparison: operator, orAbsent: false };

/** Placeholders by their index: a text that is made for each write costs as much as the rest of its expression. */
const placeholders = (prefix: string) => {
  const made: string[] = [];
  return (index: number): string => {
    made[index] ??= prefix + index;
    return made[index];
  };
};
const nameAt = placeholders('#n');
const valueAt = placeholders(':v');

/** The write in DynamoDB's words, made in one walk over it; `form`: what it takes for a value. */
export const expressed = (write: Write, form: (value: unknown) => unknown) => {
  const { set, remove = [], add, conditions = [], returns = 'ALL_NEW' } = write;
  const attributes: string[] = [];
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  let bound = 0;
  const name = (attribute: string): string => {
    const known = attributes.indexOf(attribute);
    if (known >= 0) return nameAt(known);
    const placeholder = nameAt(attributes.push(attribute) - 1);
    names[placeholder] = attribute;
    return placeholder;
  };
  const value = (given: unknown): string => {
    const placeholder = valueAt(bound);
    bound += 1;
    values[placeholder] = form(given);
    return placeholder;
  };
  const all = (list: Condition[]): string => list.map(test).join(' AND ');
  const test = (condition: Condition): string => {
    if ('anyOf' in condition) return `(${condition.anyOf.map(all).join(' OR ')})`;
    const [attribute, operator, right] = condition;
    const left = name(attribute);
    if (operator === 'is absent') return `attribute_not_exists(${left})`;
    if (operator === 'is present') return `attribute_exists(${left})`;
    if (operator === 'lacks') return `NOT contains(${left}, ${value(right)})`;
    const other = attributeIn(right);
    const operand = other === undefined ? value(right) : name(other);
    const { comparison, orAbsent } = comparisonIn(operator);
    const compares = `${left} ${comparison} ${operand}`;
    return orAbsent ? `(attribute_not_exists(${left}) OR ${compares})` : compares;
  };
  let update = '';
  let verb = 'SET ';
  const act = (action: string): void => {
    update += verb + action;
    verb = ', ';
  };
  for (const attribute in set) {
    if (set[attribute] !== undefined) act(`${name(attribute)} = ${value(set[attribute])}`);
  }
  verb = ' REMOVE ';
  for (const attribute of remove) act(name(attribute));
  verb = ' ADD ';
  for (const attribute in add) act(`${name(attribute)} ${value(add[attribute])}`);
  return {
    UpdateExpression: update,
    ConditionExpression: conditions.length > 0 ? all(conditions) : undefined,
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: bound > 0 ? values : undefined,
    ReturnValues: returns,
  };
};
