import type { RecordStore, RequestRecord } from '../stores/record-store.ts';
import { HOUR_MS, MINUTE_MS } from '../support/clock.ts';
import { LEAST_CACHED, strideOf } from './parts.ts';
import { createOpen } from './seal.ts';

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
const changedPart = (earlier: Uint16Array[], later: Uint16Array): string | undefined => {
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

const SECOND_MS = 1_000;
/** Records that are read to find the turn before: the first page of each partition, about 50 read units. */
const MOST_READ = 150;

/** The latest earlier request of a session, and the first part of its prompt that differs. */
export type TurnBefore = {
  record: RequestRecord;
  /** Null if none differs; undefined if the hashes have expired. */
  change: string | null | undefined;
};

/** Tokens that a provider's steps may leave out. */
const ROUNDING = 256;

/** What the turn before left in the cache. */
const cachedBy = ({ cacheReadTokens = 0, cacheWriteTokens = 0, ...turn }: RequestRecord): number =>
  turn.marking?.why === 'automatic' ? (turn.inputTokens ?? 0) : cacheReadTokens + cacheWriteTokens;

const isLong = ({ marking, cacheWriteLongTokens = 0 }: RequestRecord): boolean =>
  marking?.why === '1h' || cacheWriteLongTokens > 0;

/** Whether a request read less than the turn before had left. */
const isLost = (record: RequestRecord, before: RequestRecord): boolean => {
  const expected = cachedBy(before);
  return expected >= LEAST_CACHED && (record.cacheReadTokens ?? 0) < expected - ROUNDING;
};

type Records = Pick<RecordStore, 'listRecords' | 'findSealKey'>;

/** The turn before, and the requests of the session before that, within the longest life of a cache, the latest first. */
const findEarlier = async (records: Records, record: RequestRecord): Promise<RequestRecord[]> => {
  const { session, projectId, startedAt, id } = record;
  // A list is to the second; of one, the order is that of random characters.
  const range = { projectId, from: startedAt - HOUR_MS, to: startedAt + SECOND_MS };
  const found: RequestRecord[] = [];
  let read = 0;
  for await (const one of records.listRecords(range)) {
    const isEarlier = one.startedAt <= startedAt && one.id !== id;
    if (isEarlier && one.session === session) found.push(one);
    read += 1;
    const [before] = found;
    if (read >= MOST_READ || (before && !isLost(record, before))) break;
  }
  return found;
};

/**
 * The turn before; undefined if there is none among the project's latest. It is found when somebody asks, so that no request
 * pays for it.
 */
export const findTurnBefore = async (
  records: Records,
  record: RequestRecord,
): Promise<TurnBefore | undefined> => {
  if (record.session === undefined || record.inputTokens === undefined) return undefined;
  const earlier = await findEarlier(records, record);
  const [before] = earlier;
  if (!before || !isLost(record, before)) return before && { record: before, change: null };
  const open = createOpen(records);
  const [later, latest, ...others] = await Promise.all([record, ...earlier].map(open));
  if (later === undefined || latest === undefined) return { record: before, change: undefined };
  const known = others.filter((parts) => parts !== undefined);
  return { record: before, change: changedPart([latest, ...known], later) ?? null };
};

/** The target that served the request, or failed last; null if none was called. */
export const targetOf = ({ attempts }: RequestRecord): string | null => {
  const last = attempts.at(-1);
  return last ? `${last.upstream}/${last.model}` : null;
};

const PARTS: Record<string, string> = {
  tools: 'its tools changed',
  system: 'its system prompt changed',
  parameters: 'its tool choice, effort or response format changed',
};

/** Why the turn before is not read, as far as the router knows, with a word for programs. */
const causeOf = (
  { record: before, change }: TurnBefore,
  record: RequestRecord,
): [word: string, text: string] => {
  const gap = record.startedAt - before.startedAt;
  if (targetOf(before) !== targetOf(record)) {
    return ['target', `${targetOf(record)} served it, and ${targetOf(before)} the turn before`];
  }
  if (change) return [change, PARTS[change] ?? `${change} of its history changed`];
  if (gap > (isLong(before) ? HOUR_MS : 5 * MINUTE_MS)) {
    return ['expired', `it came ${Math.round(gap / 1000)} s after the turn before`];
  }
  const { cacheMissReason: reason } = record;
  if (change === undefined && !reason) {
    return ['unknown', 'what changed in its prompt is known for an hour only'];
  }
  return ['provider', `its provider did not find it${reason ? `: ${reason}` : ''}`];
};

const figuresOf = (read: number, expected: number): string =>
  expected < LEAST_CACHED
    ? `The turn before left no prompt in a cache${read > 0 ? `, and ${read} tokens were read` : ''}.`
    : `The cache held: ${read} tokens were read of ${expected} that the turn before left.`;

/** What became of the session's cache in a request; null where nothing is known of a turn before. */
export const explainCache = (record: RequestRecord, before: TurnBefore | undefined) => {
  if (before === undefined) return null;
  const read = record.cacheReadTokens ?? 0;
  const expected = cachedBy(before.record);
  const wasLost = isLost(record, before.record);
  const [lostBy, text] = wasLost ? causeOf(before, record) : [null, ''];
  return {
    turn_before: before.record.id,
    gap_ms: record.startedAt - before.record.startedAt,
    expected_tokens: expected,
    read_tokens: read,
    lost_by: lostBy,
    what: wasLost
      ? `The cache was lost: ${text}. ${read} tokens were read of ${expected} that the turn before left.`
      : figuresOf(read, expected),
  };
};
