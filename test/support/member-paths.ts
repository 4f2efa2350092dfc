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
export const membersByPath = (value: unknown): Map<string, unknown[]> => {
  const found = new Map<string, unknown[]>();
  visitMembers(value, startOf(value), (path, owner, name) => {
    const key = cleaned(path);
    found.set(key, [...(found.get(key) ?? []), owner[name]]);
  });
  return found;
};

/** A copy in which the members at the path are absent. */
export const withoutMember = (value: unknown, path: string): unknown => {
  const copy: unknown = structuredClone(value);
  visitMembers(copy, startOf(copy), (member, owner, name) => {
    if (cleaned(member) === path) delete owner[name];
  });
  return copy;
};

/** Whether a table's entry is the member, or holds it. */
export const covers = (entry: string, path: string): boolean =>
  path === entry || (path.startsWith(entry) && ['.', '['].includes(path[entry.length] ?? ''));

/** Members of which the last name is the kind of its owner: they are read wherever the owner is. */
export const isKind = (path: string): boolean => /(?:^|\.)(?:type|role)$/.test(path);

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

/**
 * The members without which a translation is the same, so that they are dropped; of an object only itself.
 * Each is tried in the first value that has it.
 */
export const withoutEffect = async (
  values: unknown[],
  translate: (value: unknown) => unknown,
): Promise<string[]> => {
  const written = async (value: unknown) => {
    try {
      return JSON.stringify(await translate(value));
    } catch (error) {
      return String(error);
    }
  };
  const tried = new Set<string>();
  const dropped: string[] = [];
  for (const value of values) {
    const whole = JSON.stringify(await translate(value));
    for (const path of membersByPath(value).keys()) {
      if (tried.has(path) || isKind(path) || dropped.some((outer) => covers(outer, path))) continue;
      tried.add(path);
      if ((await written(withoutMember(value, path))) === whole) dropped.push(path);
    }
  }
  return dropped;
};
