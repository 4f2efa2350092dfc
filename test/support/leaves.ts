/** Leaves of a request by their paths, in the form that `x-router-dropped` has: `messages[user].content[text].text`. */
type Json = Record<string, unknown>;
export type Leaf = { path: string; value: unknown; owner: Json; name: string };

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);

const kindOf = (item: unknown): string => {
  const kind = isObject(item) ? (item.type ?? item.role) : undefined;
  return typeof kind === 'string' ? kind : '';
};

/** Values that callers make up: each is one leaf. */
const WHOLE = ['schema', 'parameters', 'input_schema'];

/** Whether a member holds objects whose members are leaves. */
const isOpen = (name: string, member: unknown): boolean =>
  !WHOLE.includes(name) && [member].flat().some(isObject);

const isAbsent = (value: unknown): boolean =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0);

const isEmpty = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0;

/** Strings, numbers and booleans that are members of objects; a list of them is one leaf. */
export const leavesOf = (value: unknown, path = ''): Leaf[] => {
  if (Array.isArray(value)) {
    return value.flatMap((item) => leavesOf(item, `${path}[${kindOf(item)}]`));
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]): Leaf[] => {
    const inner = path === '' ? name : `${path}.${name}`;
    if (isAbsent(member) || isEmpty(member)) return [];
    if (isOpen(name, member)) return leavesOf(member, inner);
    return [{ path: inner, value: member, owner: value, name }];
  });
};

/** The objects of a value, by path, without those of values that callers make up. */
export const objectsOf = (value: unknown, path = ''): { path: string; object: Json }[] => {
  if (Array.isArray(value)) {
    return value.flatMap((item) => objectsOf(item, `${path}[${kindOf(item)}]`));
  }
  if (!isObject(value)) return [];
  const inner = Object.entries(value).flatMap(([name, member]) =>
    WHOLE.includes(name) ? [] : objectsOf(member, path === '' ? name : `${path}.${name}`),
  );
  return [{ path, object: value }, ...inner];
};

const segmentsOf = (path: string): string[] => path.split(/(?=[.[])/);

/** The kinds of items without a type. */
const USUAL: Record<string, string[]> = {
  '[custom]': ['[]'],
  '[function]': ['[]'],
  '[message]': ['[user]', '[assistant]', '[system]', '[developer]'],
};

/** Whether `entry` is the path or holds it; items of a list without kinds have empty brackets. */
export const isWithin = (path: string, entry: string): boolean => {
  const [inner, outer] = [segmentsOf(path), segmentsOf(entry)];
  return outer.every((part, at) => {
    const own = inner[at] ?? '';
    return own === part || USUAL[part]?.includes(own) || (part === '[]' && own.startsWith('['));
  });
};

const copyOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copyOf(one)]));
};

/** A copy without the leaves of a path. */
export const withoutLeaves = (body: Json, path: string): Json => {
  const copy = copyOf(body) as Json;
  for (const leaf of leavesOf(copy)) if (leaf.path === path) delete leaf.owner[leaf.name];
  return copy;
};
