import type { Api } from '../api/client.ts';
import type { Key, KeyUsage, List } from '../api/types.ts';

/** A key with its counts, which are absent while they load and if its plan does not exist. */
export type KeyRow = Key & { counts?: KeyUsage };

const byNewest = (one: KeyRow, other: KeyRow): number =>
  Number(isEnded(one)) - Number(isEnded(other)) || other.created_at.localeCompare(one.created_at);

export const isEnded = ({ status }: Pick<Key, 'status'>): boolean =>
  status === 'revoked' || status === 'expired';

/** Keys of a project with their counts: active ones first, then the newest. */
export const loadKeys = async (api: Api, project: string): Promise<KeyRow[]> => {
  const base = `projects/${encodeURIComponent(project)}`;
  const [keys, usage] = await Promise.all([
    api.get<List<Key>>(`${base}/keys`),
    api.get<List<KeyUsage>>(`${base}/usage`),
  ]);
  const counts = new Map(usage.data.map((row) => [row.id, row]));
  return keys.data.map((key) => withCounts(key, counts.get(key.id))).toSorted(byNewest);
};

const withCounts = (key: Key, counts: KeyUsage | undefined): KeyRow =>
  counts ? { ...key, counts } : key;

/** The rows with a changed or a new one, without the key itself. */
export const withKey = (
  rows: KeyRow[],
  { key: _, ...changed }: Key & { key?: string },
): KeyRow[] => {
  const isListed = rows.some(({ id }) => id === changed.id);
  const next = rows.map((row) => (row.id === changed.id ? { ...row, ...changed } : row));
  return (isListed ? next : [changed, ...next]).toSorted(byNewest);
};

/** Members that a reader sees: an absent name is not searched for as "undefined". */
export const matches = (row: Key, text: string): boolean => {
  const wanted = text.trim().toLowerCase();
  return [row.name, row.id, row.start, row.plan].some((member) =>
    member?.toLowerCase().includes(wanted),
  );
};

const WHOLE_KEY = /mrk_live_[0-9A-Za-z]{30,}/;
const START_LENGTH = 13;

/** A pasted key is reduced to its start before it reaches the state of the page. */
export const withoutSecret = (text: string): string =>
  text.replace(WHOLE_KEY, (key) => key.slice(0, START_LENGTH));

export const statusOf = ({
  status,
  replaced_by,
  counts,
}: KeyRow): { text: string; tone: string } => {
  if (status !== 'active') return { text: status, tone: 'off' };
  if (replaced_by !== undefined) return { text: 'replaced', tone: 'warn' };
  if (counts?.remaining === 0) return { text: 'used up', tone: 'warn' };
  return { text: 'active', tone: 'good' };
};
