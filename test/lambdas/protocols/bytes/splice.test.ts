import { describe, expect, test } from 'vitest';
import { parseJsonObject } from '../../../../lambdas/http/read-body.ts';
import {
  type Edit,
  remove,
  set,
  splice,
  spliceText,
} from '../../../../lambdas/protocols/bytes/splice.ts';
import { fc } from '../../../support/seeds.ts';

const name = fc.constantFrom('a', 'm', 'é', '":[{', '\\', '字😀', ' ');
const scalar = fc.constantFrom(
  ...['1', '-0.50', '1e2', '12345678901234567890', '"m"', '"\\"]"', '"é字😀"', 'null', 'true'],
);
const space = fc.constantFrom('', ' ', '\n  ', '\t');

/** JSON texts with any white space, and names once in each object. */
const { value } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, scalar, tie('list'), tie('object')),
  list: fc
    .tuple(fc.array(tie('value'), { maxLength: 3 }), space)
    .map(([items, gap]) => `[${gap}${items.join(`${gap},${gap}`)}${gap}]`),
  object: fc
    .tuple(
      fc.uniqueArray(fc.tuple(name, tie('value')), { maxLength: 3, selector: ([key]) => key }),
      space,
    )
    .map(
      ([members, gap]) =>
        `{${gap}${members.map(([key, item]) => `${JSON.stringify(key)}${gap}:${gap}${item}`).join(`,${gap}`)}${gap}}`,
    ),
}));

const object = fc
  .uniqueArray(fc.tuple(name, value), { maxLength: 4, selector: ([key]) => key })
  .map(
    (members) => `{${members.map(([key, item]) => `${JSON.stringify(key)} : ${item}`).join(', ')}}`,
  );

type Json = Record<string, unknown>;

/** The paths of everything in a value. */
const pathsIn = (root: unknown, path: (string | number)[] = []): (string | number)[][] =>
  typeof root === 'object' && root !== null
    ? Object.entries(root).flatMap(([key, inner]) => {
        const here = [...path, Array.isArray(root) ? Number(key) : key];
        return [here, ...pathsIn(inner, here)];
      })
    : [];

/** Makes an edit in a parsed value: what is removed of a list is marked first. */
const GONE = Symbol('gone');
const apply = (root: Json, { path, ...edit }: Edit) => {
  const last = path.at(-1) ?? '';
  const holder = path.slice(0, -1).reduce<Json>((inner, key) => inner[key] as Json, root);
  if (!edit.remove) holder[last] = edit.set;
  else if (Array.isArray(holder)) (holder as unknown[])[Number(last)] = GONE;
  else delete holder[last];
};
const swept = (root: unknown): unknown => {
  if (Array.isArray(root)) return root.filter((item) => item !== GONE).map(swept);
  if (typeof root !== 'object' || root === null) return root;
  return Object.fromEntries(Object.entries(root).map(([key, inner]) => [key, swept(inner)]));
};

/** Whether one path is within another, of which only one can be edited. */
const isWithin = (one: Edit['path'], other: Edit['path']) =>
  one.every((key, index) => key === other[index]);

const editsIn = (text: string) =>
  fc
    .uniqueArray(
      fc.record({
        at: fc.nat(),
        kind: fc.constantFrom('set', 'remove', 'add'),
        to: fc.jsonValue(),
      }),
      { maxLength: 4 },
    )
    .map((picks) => {
      const paths = pathsIn(JSON.parse(text));
      const edits: Edit[] = [];
      for (const { at, kind, to } of picks) {
        const path =
          kind === 'add' || paths.length === 0 ? ['new'] : (paths[at % paths.length] ?? []);
        const isFree = edits.every(
          (edit) => !isWithin(edit.path, path) && !isWithin(path, edit.path),
        );
        if (isFree) edits.push(kind === 'remove' ? remove(path) : set(path, to));
      }
      return edits;
    });

const cases = object.chain((text) => fc.tuple(fc.constant(text), editsIn(text)));

test('any edits of a text give what they give in its value', () => {
  fc.assert(
    fc.property(cases, ([text, edits]) => {
      const wanted = JSON.parse(text);
      for (const edit of edits) apply(wanted, edit);
      const expected = JSON.parse(JSON.stringify(swept(wanted)));
      expect(JSON.parse(spliceText(text, edits))).toEqual(expected);
    }),
    { numRuns: 1_000 },
  );
});

test('the bytes of a body are spliced as its text is, and without edits they are the received ones', () => {
  fc.assert(
    fc.property(cases, ([text, edits]) => {
      const utf8 = Buffer.from(text);
      const source = parseJsonObject(text, utf8.length);
      expect(splice(source, edits)).toBe(spliceText(text, edits));
      expect(splice(source, [])).toBe(text);
      const received = parseJsonObject(utf8, utf8.length);
      const pieces = splice(received, edits) as Uint8Array[];
      expect(Buffer.concat(pieces).toString()).toBe(spliceText(text, edits));
      expect(splice(received, [])).toHaveLength(1);
      expect(splice(received, [])[0]).toBe(utf8);
    }),
    { numRuns: 300 },
  );
});

describe('an edit', () => {
  test.each([
    [
      'sets a member and no other byte',
      '{ "a" : 1.0 , "b":[ 2 ] }',
      [set(['b', 0], 3)],
      '{ "a" : 1.0 , "b":[ 3 ] }',
    ],
    ['removes the only member', '{ "a" : 1 }', [remove(['a'])], '{ }'],
    ['removes the first member', '{"a":1, "b":2}', [remove(['a'])], '{"b":2}'],
    [
      'removes the last members',
      '{"a":1, "b":2 ,"c":3}',
      [remove(['b']), remove(['c'])],
      '{"a":1}',
    ],
    ['removes items around one', '[1, 2, 3]', [remove(['l', 0]), remove(['l', 2])], '[2]'],
    ['adds to an empty object', '{}', [set(['a'], 1)], '{"a":1}'],
    ['adds where all else is removed', '{"a":1}', [remove(['a']), set(['b'], 2)], '{"b":2}'],
    [
      'finds a name that is written with escapes',
      '{"\\u0061":1}',
      [set(['a'], 2)],
      '{"\\u0061":2}',
    ],
    ['leaves out what has no holder', '{"a":1}', [set(['a', 'b'], 2)], '{"a":1}'],
  ])('%s', (_, text, edits, expected) => {
    const isList = text.startsWith('[');
    const body = isList ? `{"l":${text}}` : text;
    expect(spliceText(body, edits)).toBe(isList ? `{"l":${expected}}` : expected);
  });
});

test('a text of 300,000 characters, ASCII or not, is spliced to the same bytes as its UTF-8', () => {
  for (const letter of ['x', 'ü', '𝄞']) {
    const text = JSON.stringify({ model: 'a', messages: [letter.repeat(300_000)], top_p: 1 });
    const utf8 = Buffer.from(text);
    const source = parseJsonObject(text, utf8.byteLength);
    const edits = [set(['model'], 'größer'), remove(['top_p'])];
    const expected = spliceText(text, edits);
    for (const received of [source, parseJsonObject(utf8, utf8.byteLength)]) {
      const sent = [splice(received, edits)].flat().map((piece) => Buffer.from(piece));
      expect(Buffer.concat(sent).toString() === expected).toBe(true);
    }
    expect(JSON.parse(expected)).toEqual({ model: 'größer', messages: [letter.repeat(300_000)] });
  }
});
