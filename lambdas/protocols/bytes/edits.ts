import { asArray, asRecord, isSameJson, type Json } from './json.ts';
import { type Edit, remove, set } from './splice.ts';

/** The edits of a part as those of what holds it at `path`; a part itself is at the empty path. */
export const inside = (path: Edit['path'], edits: Edit[]): Edit[] =>
  edits.map((edit) => ({ ...edit, path: [...path, ...edit.path] }));

/** The edits of the items of the list `name`, as those of its holder. */
export const insideEach = (
  holder: Json,
  name: string,
  editsOf: (item: Json, index: number) => Edit[],
): Edit[] => {
  const edits: Edit[] = [];
  for (const [index, item] of asArray(holder[name]).entries()) {
    for (const { path, ...edit } of editsOf(asRecord(item) ?? {}, index)) {
      edits.push({ ...edit, path: [name, index, ...path] });
    }
  }
  return edits;
};

/** Writes each wanted member unless it is that already; undefined removes it. */
export const setMembers = (received: Json, wanted: Json): Edit[] =>
  Object.entries(wanted).flatMap(([name, value]) => {
    if (isSameJson(received[name], value)) return [];
    return [value === undefined ? remove([name]) : set([name], value)];
  });

/** A value that is not written yet with an edit. Of a list, only items are set. */
const editedFrom = (level: number, value: unknown, edit: Edit): unknown => {
  const key = edit.path[level] ?? '';
  const copy = (Array.isArray(value) ? [...value] : { ...(value as Json) }) as Json;
  if (level + 1 < edit.path.length) copy[key] = editedFrom(level + 1, copy[key], edit);
  else if (edit.remove) delete copy[key];
  else copy[key] = edit.set;
  return copy;
};

export const withEdit = (value: unknown, edit: Edit): unknown => editedFrom(0, value, edit);

export const withEdits = (value: Json, edits: Edit[]): Json =>
  edits.reduce<Json>((edited, edit) => withEdit(edited, edit) as Json, value);

/** A message, or a part, with a text as its one part: vendors read both alike. */
const withParts = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withParts);
  const content = asRecord(value)?.content;
  if (typeof content === 'string') {
    return { ...(value as Json), content: [{ type: 'text', text: content }] };
  }
  return Array.isArray(content) ? { ...(value as Json), content: withParts(content) } : value;
};

/** Makes a list of messages what `wanted` is; those that mean the same stay as they were written. */
export const editMessages = (received: unknown[], wanted: unknown[]): Edit[] => [
  ...wanted.flatMap((message, index) =>
    isSameJson(withParts(received[index]), withParts(message))
      ? inside(['messages', index], withoutNulls(asRecord(received[index]) ?? {}, 'content'))
      : [set(['messages', index], message)],
  ),
  ...received.slice(wanted.length).map((_, index) => remove(['messages', wanted.length + index])),
];

/** Clients write null for what they do not set; some providers reject it. */
export const withoutNulls = (received: Json, kept?: string): Edit[] => {
  const edits: Edit[] = [];
  for (const name in received) {
    if (received[name] === null && name !== kept) edits.push(remove([name]));
  }
  return edits;
};

/** Whether a text has only white space: a vendor rejects one without a visible character. */
export const isBlankText = (value: unknown): boolean =>
  typeof value === 'string' ? !/\S/.test(value) : false;
