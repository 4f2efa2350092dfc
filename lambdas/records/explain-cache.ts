import type { RecordStore, RequestRecord } from '../stores/record-store.ts';
import { HOUR_MS, MINUTE_MS } from '../support/clock.ts';
import { changedPart } from './parts.ts';

const SECOND_MS = 1_000;
/** Records that are read to find the turn before: the first page of each partition, about 50 read units. */
const MOST_READ = 150;

/**
 * The latest earlier request of the session, within the longest life of a cache; undefined if there is none among the
 * project's latest. It is found when somebody asks, so that no request pays for it.
 */
export const findTurnBefore = async (
  records: Pick<RecordStore, 'listRecords'>,
  record: RequestRecord,
): Promise<RequestRecord | undefined> => {
  const { session, projectId, startedAt, id } = record;
  if (session === undefined || record.inputTokens === undefined) return undefined;
  // A list is to the second; of one, the order is that of random characters.
  const range = { projectId, from: startedAt - HOUR_MS, to: startedAt + SECOND_MS };
  let read = 0;
  for await (const one of records.listRecords(range)) {
    const isEarlier = one.startedAt <= startedAt && one.id !== id;
    if (isEarlier && one.session === session && one.parts !== undefined) return one;
    read += 1;
    if (read >= MOST_READ) return undefined;
  }
  return undefined;
};

/** Tokens of a prompt below which no provider caches any. */
export const LEAST_CACHED = 1_024;
/** Tokens that a provider's steps may leave out. */
const ROUNDING = 256;

/** What the turn before left in the cache. */
const cachedBy = ({ cacheReadTokens = 0, cacheWriteTokens = 0, ...turn }: RequestRecord): number =>
  turn.marking?.why === 'automatic' ? (turn.inputTokens ?? 0) : cacheReadTokens + cacheWriteTokens;

const isLong = ({ marking, cacheWriteLongTokens = 0 }: RequestRecord): boolean =>
  marking?.why === '1h' || cacheWriteLongTokens > 0;

const targetOf = ({ attempts }: RequestRecord): string => {
  const last = attempts.at(-1);
  return `${last?.upstream}/${last?.model}`;
};

const PARTS: Record<string, string> = {
  tools: 'its tools changed',
  system: 'its system prompt changed',
  parameters: 'its tool choice, effort or response format changed',
};

/** Why the turn before is not read, as far as the router knows, with a word for programs. */
const causeOf = (before: RequestRecord, record: RequestRecord): [word: string, text: string] => {
  const gap = record.startedAt - before.startedAt;
  if (targetOf(before) !== targetOf(record)) {
    return ['target', `${targetOf(record)} served it, and ${targetOf(before)} the turn before`];
  }
  const part = changedPart(before.parts ?? '', record.parts ?? '');
  if (part !== undefined) return [part, PARTS[part] ?? `${part} of its history changed`];
  if (gap > (isLong(before) ? HOUR_MS : 5 * MINUTE_MS)) {
    return ['expired', `it came ${Math.round(gap / 1000)} s after the turn before`];
  }
  const { cacheMissReason: reason } = record;
  return ['provider', `its provider did not find it${reason ? `: ${reason}` : ''}`];
};

/** What became of the session's cache in a request; null where nothing is known of a turn before. */
export const explainCache = (record: RequestRecord, before: RequestRecord | undefined) => {
  if (before === undefined) return null;
  const read = record.cacheReadTokens ?? 0;
  const expected = cachedBy(before);
  const isLost = expected >= LEAST_CACHED && read < expected - ROUNDING;
  const [lostBy, text] = isLost ? causeOf(before, record) : [null, ''];
  const figures = `${read} tokens were read of ${expected} that the turn before left`;
  return {
    turn_before: before.id,
    gap_ms: record.startedAt - before.startedAt,
    expected_tokens: expected,
    read_tokens: read,
    lost_by: lostBy,
    what: isLost ? `The cache was lost: ${text}. ${figures}.` : `The cache held: ${figures}.`,
  };
};
