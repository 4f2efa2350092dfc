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

/** The write as `Table.apply` takes it. */
export const expressed = (write: Write): [ConditionalWrite, Bindings] => {
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  const placeholders = new Map<string, string>();
  const name = (attribute: string): string => {
    let placeholder = placeholders.get(attribute);
    if (placeholder === undefined) {
      placeholder = `#n${placeholders.size}`;
      placeholders.set(attribute, placeholder);
      names[placeholder] = attribute;
    }
    return placeholder;
  };
  let bound = 0;
  const value = (given: unknown): string => {
    const placeholder = `:v${bound}`;
    bound += 1;
    values[placeholder] = given;
    return placeholder;
  };
  const clause = (verb: string, parts: string[]): string =>
    parts.length > 0 ? `${verb} ${parts.join(', ')} ` : '';
  const { set = {}, remove = [], add = {}, conditions = [], returns } = write;
  const update =
    clause(
      'SET',
      Object.keys(set).map((attribute) => `${name(attribute)} = ${value(set[attribute])}`),
    ) +
    clause('REMOVE', remove.map(name)) +
    clause(
      'ADD',
      Object.keys(add).map((attribute) => `${name(attribute)} ${value(add[attribute])}`),
    );
  const condition = conditions.map(([attribute, operator, right]) => {
    const left = name(attribute);
    if (operator === 'is absent') return `attribute_not_exists(${left})`;
    const [comparison, , mayBeAbsent] = operator.split(' ');
    const isAttribute = typeof right === 'object' && right !== null && 'attribute' in right;
    const compares = `${left} ${comparison} ${isAttribute ? name(String(right.attribute)) : value(right)}`;
    return mayBeAbsent ? `(attribute_not_exists(${left}) OR ${compares})` : compares;
  });
  return [
    {
      update,
      ...(condition.length > 0 && { condition: condition.join(' AND ') }),
      ...(returns && { returns }),
    },
    { names, values, isExact: true },
  ];
};
