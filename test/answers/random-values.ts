import type { Random } from '../simulation/random.ts';

/** No U+FFFD among them: where one is read, a character was lost on the way. */
const PIECES = [
  'a',
  'word ',
  'é',
  'ß',
  '中文',
  '🙂',
  '𠀋',
  '👩‍👩‍👧',
  '𝔐',
  'e\u0301',
  '\n',
  '\t',
  '"',
  '\\',
  '\\u0041',
  '</script>',
  '\u2028',
  'data: {"x":1}\n\n',
  '\r\n\r\n',
  '[DONE]',
  '\u0001',
  '{"a":[',
];
/** The unit count at which writers cut texts into pieces. */
const CHUNK_UNITS = 16_384;

export const pickFrom = <T>({ between }: Random, values: readonly T[]): T => {
  const value = values[between(0, values.length - 1)];
  if (value === undefined) throw new Error('nothing to pick from');
  return value;
};

/** Visible at both ends: vendors trim, or reject what is blank. */
const framed = (text: string): string => `(${text})`;

const shortText = (random: Random): string =>
  framed(Array.from({ length: random.between(1, 12) }, () => pickFrom(random, PIECES)).join(''));

/** Crosses chunk boundaries with a character of two units, at any parity. */
const longText = (random: Random): string => {
  const filler = pickFrom(random, ['🙂', 'a🙂', '𠀋bc', 'ab"🙂\n']);
  const length = CHUNK_UNITS * random.between(1, 3) + random.between(-3, 3);
  const start = 'x'.repeat(random.between(0, 5));
  return framed(start + filler.repeat(Math.ceil(length / filler.length)));
};

export const textOf = (random: Random): string =>
  random.chance(0.12) ? longText(random) : shortText(random);

const nested = (depth: number): unknown => {
  let value: unknown = '🙂';
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { k: value };
  return value;
};

const memberOf = (random: Random): unknown => {
  switch (random.between(0, 7)) {
    case 0:
      return random.between(-1_000_000, 1_000_000);
    case 1:
      return random.chance(0.5);
    case 2:
      return null;
    case 3:
      return nested(random.between(1, 40));
    case 4:
      return [shortText(random), {}, [], 0.5];
    default:
      return shortText(random);
  }
};

/** The arguments of a tool call as an object; some are as large as a file that is written. */
export const argumentsOf = (random: Random): Record<string, unknown> => {
  const names = ['path', 'content', 'größe', '🙂', 'a b', ''];
  const members = names.filter(() => random.chance(0.4)).map((name) => [name, memberOf(random)]);
  const large = random.chance(0.06)
    ? [['file', `${'x'.repeat(random.between(0, 1))}${'🙂 line\n'.repeat(21_000)}`]]
    : [];
  return Object.fromEntries([...members, ...large]);
};

/** Sizes of the pieces in which `bytes` bytes are written: small at first, and not too many of them. */
export const sizesFor = (random: Random, bytes: number): number[] => {
  const tiny = Array.from({ length: random.between(0, 12) }, () => random.between(1, 40));
  return [...tiny, Math.max(random.between(20, 4_000), Math.ceil(bytes / 40))];
};
