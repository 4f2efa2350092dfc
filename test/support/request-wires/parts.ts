import { fc } from '../seeds.ts';

/** The upstream's name of the model: same-protocol requests keep theirs. */
export const MODEL = 'vendor/model';

export const word = fc.stringMatching(/^[a-z]{1,8}$/);
/** Blank texts are left out on the messages wire, so they are not in normal form. */
export const text = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((value) => value.trim() !== '');
/** Fields that no codec knows: they must come out where they went in. */
export const unknown = fc.dictionary(
  word.map((name) => `zz9_${name}`),
  fc.jsonValue({ maxDepth: 2 }).filter((value) => value !== null),
  { maxKeys: 2 },
);
/** An object of some known fields, each present or not, and some unknown ones. */
export const loose = <T extends Record<string, fc.Arbitrary<unknown>>>(
  required: T,
  optional: Record<string, fc.Arbitrary<unknown>> = {},
) =>
  fc
    .tuple(
      fc.record({ ...required, ...optional }, { requiredKeys: Object.keys(required) }),
      unknown,
    )
    .map(([known, extra]) => ({ ...extra, ...known }));

export const schema = fc.constant({ type: 'object', properties: { a: { type: 'string' } } });
/** JSON has no -0, and this wire carries arguments as an object. */
export const args = fc
  .dictionary(word, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 })
  .map((value): Record<string, unknown> => JSON.parse(JSON.stringify(value)));

/** A list of parts in normal form: one plain text alone is written as a string. */
export const partsOr = (part: fc.Arbitrary<object>) =>
  fc.oneof(text, fc.array(part, { minLength: 2, maxLength: 3 }));
