import type { GenerationRequest, Turn } from '../protocols/generation.ts';
import { type Key, keyOf, sumLengths, sumOfText, sumOfTurns } from './part-sums.ts';

/**
 * Hashes of a prompt's parts, by which requests of a session are compared. They are summed with words that are derived from the
 * caller's key, which is stored nowhere, and from its session. At most 132 numbers of 16 bits: for tools, system and parameters,
 * the number of turns, and for each turn, or for each group of 2, 4, … of many: of its lengths for all of them, and of every
 * character for the latest. A turn's characters are in the hashes of the request in which it was new.
 */
const MAX_GROUPS = 64;
const MOST_TURNS = 0xffff;
/** Characters at the end of a prompt that are always summed. */
const LEAST_SUMMED = 8_192;

// --- hashes ---

const strideOf = (count: number): number => {
  let stride = 1;
  while (count / stride > MAX_GROUPS) stride *= 2;
  return stride;
};

const folded = (sum: number): number => sum ^ (sum >>> 16);

/** Of the lengths of all turns, and behind them of the characters of the latest. */
const hashHistory = (history: Turn[], key: Key, fresh: number): number[] => {
  const stride = strideOf(history.length);
  const groups: number[] = new Array(Math.ceil(history.length / stride)).fill(0);
  const texts = [...groups];
  const put = (sums: number[], index: number, value: number) => {
    const group = Math.floor(index / stride);
    sums[group] = (sums[group] ?? 0) ^ folded(value);
  };
  sumLengths(history, key, (index, value) => put(groups, index, value));
  let left = Math.max(fresh, LEAST_SUMMED);
  let from = history.length;
  while (from > 0 && left > 0) {
    const turn = history.slice(from - 1, from);
    from -= 1;
    const { value, size } = sumOfTurns(turn, key, from);
    put(texts, from, value);
    left -= size;
  }
  return groups.concat(texts.slice(Math.ceil(from / stride)));
};

/**
 * `tools` is the text of the tools as they were sent, which is five times as fast as to write them again; `fresh` is about how many
 * characters at the end of the prompt its provider has not read from a cache: those before them are as they were.
 */
export const hashParts = (
  { turns, toolChoice, reasoning, responseFormat }: GenerationRequest,
  { tools, fresh, secret }: { tools: string; fresh: number; secret: string },
): Uint16Array => {
  const key = keyOf(secret);
  const first = turns.findIndex(({ role }) => role !== 'system');
  const start = first === -1 ? turns.length : first;
  const history = turns.slice(start);
  const parameters = JSON.stringify([toolChoice, reasoning, responseFormat]);
  return Uint16Array.of(
    folded(sumOfText(tools, key, -1)),
    folded(sumOfTurns(turns.slice(0, start), key, -2).value),
    folded(sumOfText(parameters, key, -3)),
    Math.min(history.length, MOST_TURNS),
    ...hashHistory(history, key, fresh),
  );
};

// --- comparison ---

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
