import type { Api } from '../api/client.ts';
import { ApiFailure } from '../api/failure.ts';
import type { Key, KeyUsage, PagedList } from '../api/types.ts';
import { DAY_MS } from '../parts/format.ts';

export type KeyRow = Key & {
  /** Without its numbers if its plan does not exist; absent for a new key. */
  counts?: KeyUsage | undefined;
  /** Upstream cost of this month, in dollars; absent while it loads. */
  spend?: number | undefined;
  /** A change that not every environment has until then, in milliseconds since the epoch. */
  pending?: { change: 'pausing' | 'resuming'; until: number };
};

export const nameOf = ({ name, id }: Pick<Key, 'name' | 'id'>): string => name ?? id;

export const isEnded = ({ status }: Pick<Key, 'status'>): boolean =>
  status === 'revoked' || status === 'expired';

const byNewest = (one: KeyRow, other: KeyRow): number =>
  Number(isEnded(one)) - Number(isEnded(other)) || other.created_at.localeCompare(one.created_at);

export type KeyQuery = { q: string; status: string; cursor?: string | undefined };

/** Rows that are loaded and drawn at once; the API returns no more counts. */
const PAGE_SIZE = 100;
const WHOLE_KEY = /mrk_live_[0-9A-Za-z]{30,}/;

/** The SHA-256 in hex. */
const hashOf = async (key: string): Promise<string> => {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
};

/**
 * The key that a text contains, in any project that the reader may see; undefined for any other text. Only its
 * hash leaves the page. @throws ApiFailure
 */
export const findPasted = async (api: Api, text: string): Promise<Key | 'none' | undefined> => {
  const [key] = WHOLE_KEY.exec(text) ?? [];
  if (key === undefined) return undefined;
  try {
    const { data } = await api('keys.find', {}, { sha256: await hashOf(key) });
    return data[0] ?? 'none';
  } catch (error) {
    if (error instanceof ApiFailure && error.status === 404) return 'none';
    throw error;
  }
};

/** Counts of the keys of a page, or of named ones, by key. */
export const loadCounts = async (
  api: Api,
  project: string,
  query: (KeyQuery & { limit: number }) | { keys: string },
): Promise<Map<string, KeyUsage>> => {
  const { data } = await api('quotas.list', { project }, query);
  return new Map(data.map((row) => [row.id, row]));
};

/** A page of a project's keys with their counts: active ones first, then the newest. */
export const loadRows = async (
  api: Api,
  project: string,
  filter: KeyQuery,
): Promise<PagedList<KeyRow>> => {
  const query = { ...filter, limit: PAGE_SIZE };
  const [page, counts] = await Promise.all([
    api('keys.list', { project }, query),
    loadCounts(api, project, query),
  ]);
  const rows = page.data.map((row) => ({ ...row, counts: counts.get(row.id) }));
  return { ...page, data: rows.toSorted(byNewest) };
};

/** How many keys match: a read of each, for which the rows of a long list do not wait. */
export const countKeys = async (api: Api, project: string, filter: KeyQuery): Promise<number> => {
  const { total = 0 } = await api(
    'keys.list',
    { project },
    { ...filter, cursor: undefined, limit: 1, count: true },
  );
  return total;
};

/** Upstream cost of this month by key, in dollars. */
export const loadSpend = async (api: Api, project: string, rows: readonly KeyRow[]) => {
  const keys = rows.map(({ id }) => id).join(',');
  const since = `${new Date().toISOString().slice(0, 7)}-01T00:00:00Z`;
  const { data } = await api('usage', {}, { project, by: 'key', since, keys });
  return new Map(data.map(({ key = '', cost_usd: cost }) => [key, cost]));
};

/** The rows with a changed or a new one, without the key itself. */
export const withKey = (rows: KeyRow[], { key: _, ...changed }: KeyRow & { key?: string }) => {
  const isListed = rows.some(({ id }) => id === changed.id);
  const next = rows.map((row) => (row.id === changed.id ? { ...row, ...changed } : row));
  return (isListed ? next : [changed, ...next]).toSorted(byNewest);
};

/** A key that is not used for this long is better revoked. */
const UNUSED_MS = 30 * DAY_MS;

const isUnused = (lastUsed: string): boolean => Date.now() - Date.parse(lastUsed) > UNUSED_MS;

export const statusOf = ({
  status,
  replaced_by: successor,
  counts,
  pending,
  created_at: createdAt,
}: KeyRow): { text: string; tone: string } => {
  if (isEnded({ status })) return { text: status, tone: 'off' };
  if (pending && Date.now() < pending.until) return { text: `${pending.change}…`, tone: 'warn' };
  if (status !== 'active') return { text: status, tone: 'warn' };
  if (successor !== undefined) return { text: 'replaced', tone: 'warn' };
  if (counts?.remaining === 0) return { text: 'used up', tone: 'warn' };
  if (counts && isUnused(counts.last_used_at ?? createdAt)) return { text: 'unused', tone: 'off' };
  return { text: 'active', tone: 'good' };
};
