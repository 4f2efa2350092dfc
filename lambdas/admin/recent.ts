import type { KeyStore } from '../stores/key-store.ts';
import type { Attempt, RecordPlace, RequestRecord } from '../stores/record-store.ts';
import { mergeDescending } from '../support/async-lists.ts';
import { DAY_MS, formatInstant } from '../support/clock.ts';

/** Records and refusals that a view of figures reads at most, of one day: it says of how many requests they are. */
const MOST_RECORDS = 2_000;

export const placeOf = ({ day, id }: RecordPlace): string => `${day}|${id}`;

type List<Item> = (range: {
  projectId: string;
  from: number;
  to: number;
}) => AsyncGenerator<Item, void, void>;

export type Recent<Item> = {
  found: Item[];
  /** Whether the day has no others. */
  isAll: boolean;
  since: string;
};

/** The newest of some projects within a day. */
export const readRecent = async <Item extends RecordPlace & { startedAt: number }>(
  list: List<Item>,
  projectIds: readonly string[],
  now: number,
): Promise<Recent<Item>> => {
  // A second ahead, as the clocks of environments differ.
  const range = { from: now - DAY_MS, to: now + 1_000 };
  const sources = projectIds.map((projectId) => list({ projectId, ...range }));
  const found: Item[] = [];
  let isAll = true;
  for await (const item of mergeDescending(sources, placeOf)) {
    isAll = found.length < MOST_RECORDS;
    if (!isAll) break;
    found.push(item);
  }
  const since = isAll ? range.from : (found.at(-1)?.startedAt ?? range.from);
  return { found, isAll, since: formatInstant(since) };
};

/** Names of keys are looked up by the admin API: a record has the id only. One read for each key. */
export const readKeyNames = async (
  keys: Pick<KeyStore, 'findKeyById'>,
  refs: readonly { keyId?: string | undefined; projectId: string }[],
) => {
  const projectOf = new Map(
    refs.flatMap(({ keyId, projectId }) => (keyId === undefined ? [] : [[keyId, projectId]])),
  );
  const read = async ([keyId, projectId]: [string, string]) =>
    [keyId, (await keys.findKeyById(projectId, keyId))?.name ?? null] as const;
  const names = new Map(await Promise.all([...projectOf].map(read)));
  return (keyId = ''): string | null => names.get(keyId) ?? null;
};

/** The target of an attempt, as breakers and lists name it. */
export const targetOf = ({ upstream, model }: Pick<Attempt, 'upstream' | 'model'>): string =>
  `${upstream}/${model}`;

/** What of a request's cost its attempt of this index made: the last one what the others did not. */
export const nanosOfAttempt = ({ attempts, costNanos = 0 }: RequestRecord, index: number) => {
  const earlier = attempts.slice(0, -1).map((attempt) => attempt.costNanos ?? 0);
  return earlier[index] ?? costNanos - earlier.reduce((sum, nanos) => sum + nanos, 0);
};
