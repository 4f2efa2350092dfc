/**
 * Schemas of what comes from outside: requests, stored items, the environment. A schema is a function, which takes no time to
 * build: zod's objects were a fifth of the function's import (docs/decisions/0022-own-schemas.md).
 */
import { invalidRequest } from './errors.ts';
import { growOnce } from './memo.ts';
import { isRecord, plainAt, withoutSpelling } from './objects.ts';

/** What is wrong with a value, in words that follow its path: `max_tokens: is required`. */
type Issue = {
  path: (string | number)[];
  text: string;
  /** What the value must be, if its type is wrong. */
  kind?: string;
};

/** Returns the value as it is used, or adds to `issues` why it is not valid; the result is unused then. */
export type Schema<T> = (value: unknown, issues: Issue[]) => T;
export type Infer<S> = S extends (...args: never[]) => infer T ? T : never;

type Loose = Record<string, unknown>;

const ofKind =
  <T>(kind: string, is: (value: unknown) => value is T): Schema<T> =>
  (value, issues) => {
    if (!is(value)) {
      const text = value === undefined ? 'is required' : `must be ${kind}`;
      issues.push({ path: [], text, kind });
    }
    return value as T;
  };

export const string = ofKind('a string', (value) => typeof value === 'string');
export const boolean = ofKind('a boolean', (value) => typeof value === 'boolean');
const finite = ofKind('a number', (value): value is number => Number.isFinite(value));
export const number: Schema<number> = (value, issues) => finite(withoutSpelling(value), issues);
/** Any value, but not none. */
export const anything = ofKind('present', (value): value is unknown => value !== undefined);
export const jsonObject = ofKind<Loose>('an object', isRecord);
const array = ofKind('an array', (value): value is unknown[] => Array.isArray(value));

/** @param text what a value must be that fails the test */
export const checked =
  <T>(schema: Schema<T>, isValid: (value: T) => boolean, text: string): Schema<T> =>
  (value, issues) => {
    const before = issues.length;
    const output = schema(value, issues);
    if (issues.length === before && !isValid(output)) issues.push({ path: [], text });
    return output;
  };

export const atLeast = (schema: Schema<number>, min: number): Schema<number> =>
  checked(schema, (value) => value >= min, `must be at least ${min}`);
export const atMost = (schema: Schema<number>, max: number): Schema<number> =>
  checked(schema, (value) => value <= max, `must be at most ${max}`);
export const integer = atMost(
  checked(number, Number.isInteger, 'must be an integer'),
  Number.MAX_SAFE_INTEGER,
);
export const positive = checked(integer, (value) => value > 0, 'must be more than 0');
export const nonEmpty = checked(string, (value) => value !== '', 'must have at least 1 character');
export const matching = (pattern: RegExp, text: string): Schema<string> =>
  checked(string, (value) => pattern.test(value), text);

export const mapped =
  <T, U>(schema: Schema<T>, map: (value: T) => U): Schema<U> =>
  (value, issues) => {
    const before = issues.length;
    const output = schema(value, issues);
    return issues.length === before ? map(output) : (output as never);
  };

/** `must be one of "a", "b"` */
export const anyOf = (values: readonly unknown[]): string => {
  const [first, ...others] = values.map((value) => JSON.stringify(value));
  return others.length === 0
    ? `must be ${first}`
    : `must be one of ${[first, ...others].join(', ')}`;
};

export const oneOf =
  <const T>(values: readonly T[], text?: string): Schema<T> =>
  (value, issues) => {
    if (!values.includes(value as T)) {
      const rule = value === undefined ? 'is required' : anyOf(values);
      issues.push({ path: [], text: text ?? rule });
    }
    return value as T;
  };
export const literal = <const T>(value: T): Schema<T> => oneOf([value]);

/** `null` reads as absent. */
export const optional =
  <T>(schema: Schema<T>): Schema<T | undefined> =>
  (value, issues) =>
    value === undefined || value === null ? undefined : schema(value, issues);

/** Accepts no `null`. */
export const exactOptional = <T>(schema: Schema<T>): Schema<T> & { isOptional: true } =>
  Object.assign(
    (value: unknown, issues: Issue[]) =>
      value === undefined ? (value as never) : schema(value, issues),
    { isOptional: true } as const,
  );

export const withDefault =
  <T>(schema: Schema<T>, value: T): Schema<T> =>
  (given, issues) =>
    given === undefined ? value : schema(given, issues);

/** Reads a member or an item; its name is in the path of each of its issues. */
const readAt = <T>(name: string | number, schema: Schema<T>, value: unknown, issues: Issue[]) => {
  const before = issues.length;
  const output = schema(value, issues);
  for (let index = before; index < issues.length; index += 1) issues[index]?.path.unshift(name);
  return output;
};

/** Reads up to the first invalid item, because an error names one. Returns the list itself if no item is changed. */
export const list = <T>(item: Schema<T>, items: Schema<unknown[]> = array): Schema<T[]> => {
  const read = growOnce<unknown, T, [], Issue[]>((output, values, _, issues) => {
    const before = issues.length;
    for (let index = output.length; index < values.length && issues.length === before; index += 1) {
      output.push(readAt(index, item, values[index], issues));
    }
    return issues.length === before;
  });
  return (value, issues) => {
    const before = issues.length;
    const values = items(value, issues);
    if (issues.length > before) return [];
    const output = read(values, [], issues);
    return output.every((entry, index) => entry === values[index]) ? (values as T[]) : output;
  };
};

const sized = (count: number): string => `${count} item${count === 1 ? '' : 's'}`;
export const minItems = (min: number): Schema<unknown[]> =>
  checked(array, ({ length }) => length >= min, `must have at least ${sized(min)}`);
export const maxItems = (
  max: number,
  { items = array, text = `must have at most ${sized(max)}` } = {},
): Schema<unknown[]> => checked(items, ({ length }) => length <= max, text);

type Shape = Record<string, Schema<unknown>>;
type OptionalNames<S extends Shape> = {
  [Name in keyof S]: S[Name] extends { isOptional: true } ? Name : never;
}[keyof S];
type Members<S extends Shape> = {
  [Name in Exclude<keyof S, OptionalNames<S>>]: Infer<S[Name]>;
} & { [Name in OptionalNames<S>]?: Infer<S[Name]> };

/** Reads the members of `shape` into what `start` returns for the value; copies it only if it is the value itself. */
const objectOf = (shape: Shape, start: (value: Loose) => Loose) => {
  const members = Object.entries(shape);
  return (value: unknown, issues: Issue[]): Loose => {
    const before = issues.length;
    const given = jsonObject(value, issues);
    if (issues.length > before) return {};
    let output = start(given);
    for (const [name, schema] of members) {
      const sent = given[name];
      const member = readAt(name, schema, sent, issues);
      if (member === (output === given ? sent : output[name])) continue;
      if (output === given) output = { ...given };
      output[name] = member;
    }
    return output;
  };
};

/** An object without the members that are not listed, and without those that are absent. */
export const object = <S extends Shape>(shape: S): Schema<Members<S>> & { shape: S } =>
  Object.assign(objectOf(shape, () => ({})) as Schema<Members<S>>, { shape });

/** An object that keeps the members that are not listed. */
export const looseObject = <S extends Shape>(shape: S) =>
  objectOf(shape, (value) => value) as Schema<Members<S> & Loose>;

/** One whose `type` is this. */
export const kind = <const Type extends string, S extends Shape>(type: Type, shape: S) =>
  looseObject({ type: literal(type), ...shape });

/** Members that select a branch of a union. */
const DISCRIMINATORS = ['type', 'role'];

const isOtherBranch = (issues: Issue[]): boolean =>
  issues.some(({ path }) => path.length === 1 && DISCRIMINATORS.includes(String(path[0])));

/** An issue inside a value is more specific than one about its type, the deepest one most. */
const weight = ({ path, kind }: Issue): number => 2 * path.length + (kind === undefined ? 1 : 0);

const heaviest = (issues: Issue[]): Issue | undefined =>
  issues.toSorted((one, other) => weight(other) - weight(one))[0];

/** The issue of the branch that the value's `type` selects, else the deepest one; undefined if all are of types. */
const decisive = (branches: Issue[][]): Issue | undefined => {
  const selected = branches.filter((issues) => !isOtherBranch(issues));
  const found = heaviest(selected.flat()) ?? heaviest(branches.flat());
  return found && weight(found) > 0 ? found : undefined;
};

/** `must be a string or an array`, if that is all that the branches require. */
const kindsOf = (branches: Issue[][]): string => {
  const kinds = branches.map(([issue]) => (issue?.path.length === 0 ? issue.kind : undefined));
  const known = new Set(kinds.filter((kind) => kind !== undefined));
  return known.size === kinds.length ? `must be ${[...known].join(' or ')}` : 'is not valid';
};

/** The first schema that accepts the value. @param text of the issue if no branch has a better one */
export const union =
  <S extends Schema<unknown>[]>(
    schemas: readonly [...S],
    text?: string,
  ): Schema<Infer<S[number]>> =>
  (value, issues) => {
    const before = issues.length;
    const branches: Issue[][] = [];
    for (const schema of schemas) {
      const output = schema(value, issues);
      if (issues.length === before) return output as Infer<S[number]>;
      branches.push(issues.splice(before));
    }
    const rule = value === undefined ? 'is required' : kindsOf(branches);
    issues.push(decisive(branches) ?? { path: [], text: text ?? rule });
    return value as never;
  };

/** The object schema that the member `name` selects. */
export const selectedBy = <S extends Shape>(
  name: string,
  schemas: S,
  text?: string,
): Schema<Infer<S[keyof S]>> => {
  const byChoice = new Map<unknown, Schema<unknown>>(Object.entries(schemas));
  return (value, issues) => {
    const before = issues.length;
    const given = jsonObject(value, issues);
    if (issues.length > before) {
      if (text !== undefined) issues.splice(before, 1, { path: [], text });
      return value as never;
    }
    const schema = byChoice.get(given[name]);
    if (!schema) issues.push({ path: [name], text: text ?? anyOf(Object.keys(schemas)) });
    return schema?.(value, issues) as never;
  };
};

/** An object of a type that is not listed, kept whole. */
const Other = mapped(looseObject({ type: string }), (value) => ({ type: 'other' as const, value }));

/** The object schema that `type` selects, `untyped` without one; an object of another type is kept whole, as `type: 'other'`. */
export const typed = <S extends Shape, U extends Schema<unknown> = typeof Other>(
  schemas: S,
  untyped: U | typeof Other = Other,
): Schema<Infer<S[keyof S] | U | typeof Other>> => {
  const byType = new Map<unknown, Schema<unknown>>(Object.entries(schemas));
  return (value, issues) => {
    const type = isRecord(value) ? value.type : undefined;
    const schema = type == null ? untyped : (byType.get(type) ?? Other);
    return schema(value, issues) as never;
  };
};

/** Of an object whose type is known elsewhere: `typed` would keep it whole. */
export const noneBut = (types: readonly string[]): Schema<never> =>
  looseObject({ type: oneOf(types) }) as Schema<never>;

const readAs = <T>(schema: Schema<T>, value: unknown) => {
  const issues: Issue[] = [];
  return { output: schema(value, issues), issues };
};

/** Undefined if the value is not valid. */
export const readIfValid = <T>(schema: Schema<T>, value: unknown): T | undefined => {
  const { output, issues } = readAs(schema, value);
  return issues.length === 0 ? output : undefined;
};

/** @throws Error that names every issue of `name` */
export const parse = <T>(schema: Schema<T>, value: unknown, name: string): T => {
  const { output, issues } = readAs(schema, value);
  if (issues.length === 0) return output;
  const list = issues.map(({ path, text }) => `${path.join('.')} ${text}`).join(', ');
  throw new Error(`${name} is not valid: ${list}`);
};

/** Checks a request body. @throws ApiError 400 that names the first invalid path. */
export const parseWire = <T>(schema: Schema<T>, body: unknown): T => {
  const { output, issues } = readAs(schema, body);
  const [first] = issues;
  if (!first) return output;
  const param = first.path.join('.');
  if (param === '') throw invalidRequest(`The body ${first.text}.`);
  const rule = { value: plainAt(body, first.path) };
  throw invalidRequest(`${param}: ${first.text}.`, { param, rule });
};
