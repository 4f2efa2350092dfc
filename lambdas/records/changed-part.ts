import { strideOf } from './parts.ts';

/** Of each group; undefined where the characters of its turns are in the hashes of an earlier request. */
type Groups = (number | undefined)[];

const read = ([tools, system, parameters, count = 0, ...groups]: Iterable<number>) => {
  const shapes = groups.splice(0, Math.ceil(count / strideOf(count)));
  const unknown: Groups = new Array(Math.max(0, shapes.length - groups.length)).fill(undefined);
  return { tools, system, parameters, count, shapes, texts: [...unknown, ...groups] };
};
type Read = ReturnType<typeof read>;

/** Groups of `factor` as many turns. */
const merged = (groups: Groups, factor: number): Groups =>
  Array.from({ length: Math.ceil(groups.length / factor) }, (_, at) =>
    groups
      .slice(at * factor, (at + 1) * factor)
      .reduce(
        (sum, group) => (sum === undefined || group === undefined ? undefined : sum ^ group),
        0,
      ),
  );

/** The turns before `end`, from 1, of which at least one differs. */
const changedTurns = (
  [one, other]: [Read, Read],
  kind: 'shapes' | 'texts',
  end: number,
): [from: number, to: number] | undefined => {
  const stride = strideOf(Math.max(one.count, other.count));
  const [ones = [], others = []] = [one, other].map((parts) =>
    merged(parts[kind], stride / strideOf(parts.count)),
  );
  const isChanged = (group: number | undefined, at: number) =>
    group !== undefined && others[at] !== undefined && group !== others[at];
  const at = ones.slice(0, Math.floor(end / stride)).findIndex(isChanged);
  return at === -1 ? undefined : [at * stride + 1, (at + 1) * stride];
};

/** Of the turns whose characters are not in the hashes of a later request, those of each earlier one: the first that differ. */
const changedTexts = (earlier: Read[], later: Read): [from: number, to: number] | undefined => {
  let end = later.count;
  let changed: [number, number] | undefined;
  for (const one of earlier) {
    changed = changedTurns([one, later], 'texts', Math.min(end, one.count)) ?? changed;
    const known = one.texts.findIndex((group) => group !== undefined);
    if (known !== -1) end = Math.min(end, known * strideOf(one.count));
  }
  return changed;
};

/**
 * The first part of a prompt that differs from that of the turn before; undefined if none does. `earlier` are the hashes of the
 * session's requests before it, the latest first.
 */
export const changedPart = (earlier: Uint16Array[], later: Uint16Array): string | undefined => {
  const other = read(later);
  const ones = earlier.map(read);
  const [one] = ones;
  if (!one) return undefined;
  for (const part of ['tools', 'system', 'parameters'] as const) {
    if (one[part] !== other[part]) return part;
  }
  const changes = [
    changedTurns([one, other], 'shapes', Math.min(one.count, other.count)) ?? [],
    changedTexts(ones, other) ?? [],
    other.count < one.count ? [other.count + 1, other.count + 1] : [],
  ];
  const [from, to] = changes.reduce((first, change) =>
    (change[0] ?? Infinity) < (first[0] ?? Infinity) ? change : first,
  );
  return from === undefined ? undefined : from === to ? `turn ${from}` : `turns ${from} to ${to}`;
};
