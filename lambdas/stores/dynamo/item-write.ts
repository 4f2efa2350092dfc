import { createLruCache } from '../../support/lru-cache.ts';
import type { Bindings, ConditionalWrite } from './table.ts';

type Comparison = '=' | '<' | '<=' | '>' | '>=';

/** An attribute that is absent, that compares to a value or to `{ attribute }`, or that is absent or compares to it. */
export type Condition =
  | [attribute: string, 'is absent']
  | [attribute: string, operator: Comparison | `${Comparison} or absent`, value: unknown];

/** A write as data: the attributes that it changes, and the conditions that all hold. */
export type Write = {
  set?: Record<string, unknown>;
  remove?: readonly string[];
  add?: Record<string, number>;
  conditions?: Condition[];
  returns?: ConditionalWrite['returns'];
};

/** A count that may be absent while it is 0. */
export const counts = (attribute: string, count: number): Condition => [
  attribute,
  count > 0 ? '=' : '= or absent',
  count,
];

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

const attributeIn = (operand: unknown): string | undefined =>
  typeof operand === 'object' && operand !== null && 'attribute' in operand
    ? String(operand.attribute)
    : undefined;

const listed = (verb: string, parts: string[]): string =>
  parts.length > 0 ? `${verb} ${parts.join(', ')} ` : '';

const express = (
  { set = {}, remove = [], add = {}, conditions = [], returns }: Write,
  attributes: string[],
): ConditionalWrite => {
  let bound = 0;
  const name = (attribute: string): string => `#n${attributes.indexOf(attribute)}`;
  const value = (): string => {
    bound += 1;
    return `:v${bound - 1}`;
  };
  const sets = Object.keys(set).map((one) => `${name(one)} = ${value()}`);
  const removes = remove.map(name);
  const adds = Object.keys(add).map((one) => `${name(one)} ${value()}`);
  const condition = conditions.map(([attribute, operator, right]) => {
    const left = name(attribute);
    if (operator === 'is absent') return `attribute_not_exists(${left})`;
    const [comparison, , mayBeAbsent] = operator.split(' ');
    const other = attributeIn(right);
    const compares = `${left} ${comparison} ${other === undefined ? value() : name(other)}`;
    return mayBeAbsent ? `(attribute_not_exists(${left}) OR ${compares})` : compares;
  });
  return {
    update: listed('SET', sets) + listed('REMOVE', removes) + listed('ADD', adds),
    ...(condition.length > 0 && { condition: condition.join(' AND ') }),
    ...(returns && { returns }),
  };
};

/** Expressions by the shapes of writes, of which there are few: to make one takes 8 us. */
const expressions = createLruCache<ConditionalWrite>(500);
const NAMES: string[] = [];
const VALUES: string[] = [];
const CODES = new Map<string, string>();
/** In a shape, operators are characters before this one, and attributes those from it on. */
const FIRST = 0x100;

const placeholderAt = (made: string[], prefix: string, index: number): string => {
  const known = made[index] ?? `${prefix}${index}`;
  made[index] = known;
  return known;
};

const codeOf = (operator: string): string => {
  const known = CODES.get(operator);
  if (known !== undefined) return known;
  const code = String.fromCharCode(CODES.size + 1);
  CODES.set(operator, code);
  return code;
};

/** The write as `Table.apply` takes it. */
export const expressed = (write: Write): [ConditionalWrite, Bindings] => {
  const { set, remove = [], add, conditions = [], returns = '' } = write;
  const attributes: string[] = [];
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  let shape = '';
  let bound = 0;
  const name = (attribute: string): void => {
    let index = attributes.indexOf(attribute);
    if (index < 0) {
      index = attributes.push(attribute) - 1;
      names[placeholderAt(NAMES, '#n', index)] = attribute;
    }
    shape += String.fromCharCode(FIRST + index);
  };
  const value = (given: unknown): void => {
    values[placeholderAt(VALUES, ':v', bound)] = given;
    bound += 1;
  };
  shape += codeOf(returns);
  for (const attribute in set) {
    name(attribute);
    value(set[attribute]);
  }
  shape += codeOf('remove');
  for (const attribute of remove) name(attribute);
  shape += codeOf('add');
  for (const attribute in add) {
    name(attribute);
    value(add[attribute]);
  }
  for (const [attribute, operator, right] of conditions) {
    shape += codeOf(operator);
    name(attribute);
    const other = attributeIn(right);
    if (other !== undefined) name(other);
    else if (operator !== 'is absent') value(right);
  }
  let expression = expressions.get(shape);
  if (!expression) {
    expression = express(write, attributes);
    expressions.set(shape, expression);
  }
  return [expression, { names, values, isExact: true }];
};
