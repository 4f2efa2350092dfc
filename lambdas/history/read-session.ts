import type { UsageRow } from '../stores/history-store.ts';
import type { RecordStore, RequestRecord } from '../stores/record-store.ts';
import { formatInstant } from '../support/clock.ts';
import { addPart, emptyPart, partOf } from './fold-day.ts';
import { publicSums } from './read-usage.ts';

/** Records that are read to find those of a session: about 10 MB, and a second. */
const MOST_READ = 10_000;

/** What is known of a session, from its records: there is no index, which would double the price of writing them. */
export type Session = {
  /** The newest first. */
  records: RequestRecord[];
  /** All of the range was read. */
  isComplete: boolean;
};

/** The requests of a project's session; none if no record names it. */
export const readSession = async (
  records: Pick<RecordStore, 'listRecords'>,
  { session, ...range }: { projectId: string; session: string; from: number; to: number },
): Promise<Session> => {
  const found: RequestRecord[] = [];
  let read = 0;
  for await (const record of records.listRecords(range)) {
    if (record.who?.session === session) found.push(record);
    read += 1;
    if (read >= MOST_READ) return { records: found, isComplete: false };
  }
  return { records: found, isComplete: true };
};

/** Sums of a session's requests. */
export const publicSession = ({ records, isComplete }: Session, id: string) => {
  const sums = emptyPart();
  for (const record of records) addPart(sums, partOf(record));
  const first = Math.min(...records.map(({ startedAt }) => startedAt));
  const last = Math.max(...records.map(({ startedAt, ms }) => startedAt + ms));
  const { inputTokens, cacheReadTokens }: Pick<UsageRow, 'inputTokens' | 'cacheReadTokens'> = sums;
  return {
    id,
    requests: records.length,
    first_at: formatInstant(first),
    last_at: formatInstant(last),
    duration_ms: last - first,
    /** Requests whose history ended in a loop. */
    loops: records.filter(({ isLoop }) => isLoop).length,
    ...publicSums(sums),
    cache_share: inputTokens === 0 ? null : cacheReadTokens / inputTokens,
    is_complete: isComplete,
  };
};
