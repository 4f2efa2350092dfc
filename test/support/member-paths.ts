import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';

/** Members of JSON values by path: `content[text].citations`. Lists have no segment. */
type Json = Record<string, unknown>;
type Visit = (path: string, owner: Json, name: string) => void;

const kindOf = (value: Json): string => {
  const kind = value.type ?? value.role;
  return typeof kind === 'string' ? `[${kind}]` : '';
};

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const visitMembers = (value: unknown, path: string, visit: Visit): void => {
  if (Array.isArray(value)) for (const item of value) visitMembers(item, path, visit);
  if (!isObject(value)) return;
  for (const name of Object.keys(value)) {
    const member = path === '' ? name : `${path}${kindOf(value)}.${name}`;
    visit(member, value, name);
    visitMembers(value[name], member, visit);
  }
};

/** Paths in a list, e.g. of events, start with the kind of an item: `[message_stop].type`. */
const START_OF_LIST = ' ';
const startOf = (value: unknown) => (Array.isArray(value) ? START_OF_LIST : '');
const cleaned = (path: string) => path.replace(/^ \.?/, '');

/** The values of every member. */
const membersByPath = (value: unknown): Map<string, unknown[]> => {
  const found = new Map<string, unknown[]>();
  visitMembers(value, startOf(value), (path, owner, name) => {
    const key = cleaned(path);
    found.set(key, [...(found.get(key) ?? []), owner[name]]);
  });
  return found;
};

/** A copy in which the members at the path are absent. */
const withoutMember = (value: unknown, path: string): unknown => {
  const copy: unknown = structuredClone(value);
  visitMembers(copy, startOf(copy), (member, owner, name) => {
    if (cleaned(member) === path) delete owner[name];
  });
  return copy;
};

/** Whether a table's entry is the member, or holds it. */
export const covers = (entry: string, path: string): boolean =>
  path === entry || (path.startsWith(entry) && ['.', '['].includes(path[entry.length] ?? ''));

/** Why members are listed, by their paths; an entry holds for all members below it. */
export type Reasons = Record<string, string>;

/** Both ways: a member without an entry, and an entry without a member. */
export const expectListed = (paths: Iterable<string>, reasons: Reasons): void => {
  const entries = Object.keys(reasons);
  const found = [...paths];
  expect({
    'not listed': found.filter((path) => !entries.some((entry) => covers(entry, path))),
    'no longer so': entries.filter((entry) => !found.some((path) => covers(entry, path))),
  }).toEqual({ 'not listed': [], 'no longer so': [] });
};

/** The path, and those of the members that hold it. */
const outersOf = (path: string): string[] => [
  path,
  ...[...path.matchAll(/[.[]/g)].map(({ index }) => path.slice(0, index)),
];

/** Members of which the last name is the kind of its owner: they are read wherever the owner is. */
const isKind = (path: string): boolean => /(?:^|\.)(?:type|role)$/.test(path);

/** The members of `value` that `read` has with other values, or not at all; of an object only itself. */
export const differencesIn = (value: unknown, read: unknown): string[] => {
  const others = membersByPath(read);
  const different: string[] = [];
  for (const [path, values] of membersByPath(value)) {
    if (different.some((outer) => covers(outer, path))) continue;
    const found = others.get(path) ?? [];
    const isSame = values.every((one) =>
      typeof one === 'object' && one !== null ? found.length > 0 : found.includes(one),
    );
    if (!isSame) different.push(path);
  }
  return different;
};

/** What is sent, and the names of what is reported as not sent. */
export type Translated = { sent: unknown; reported?: unknown };
type Translate = (value: unknown) => Promise<Translated> | Translated;

/** What differs from the whole when a member is absent: also what is sent, if the rest is rejected. */
const effectOf = async (
  translate: () => Promise<Translated> | Translated,
  whole: Translated,
): Promise<'sent' | 'reported' | 'none'> => {
  try {
    const without = await translate();
    if (!isDeepStrictEqual(without.sent, whole.sent)) return 'sent';
    return isDeepStrictEqual(without.reported, whole.reported) ? 'none' : 'reported';
  } catch {
    return 'sent';
  }
};

/**
 * The members that are dropped in silence: without them the same is sent and reported. An object that is
 * dropped or reported stands for its members; each is tried in the first value that has it.
 */
export const withoutEffect = async (values: unknown[], translate: Translate): Promise<string[]> => {
  const found = { sent: new Set<string>(), reported: new Set<string>(), none: new Set<string>() };
  const isDecided = (path: string) =>
    outersOf(path).some((outer) => found.none.has(outer) || found.reported.has(outer));
  for (const value of values) {
    const whole = await translate(value);
    for (const [path, [first]] of membersByPath(value)) {
      const member = isObject(first) ? `${path}${kindOf(first)}` : path;
      if (found.sent.has(member) || isKind(path) || isDecided(member)) continue;
      const effect = await effectOf(() => translate(withoutMember(value, path)), whole);
      found[effect].add(member);
    }
  }
  return [...found.none];
};
