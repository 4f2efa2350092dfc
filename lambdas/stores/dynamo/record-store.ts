import { mergeDescending } from '../../support/async-lists.ts';
import { DAY_MS, dayOf, MAX_INVOCATION_MS } from '../../support/clock.ts';
import { firstRequestIdAt, requestTimeOf, suffixOf } from '../../support/ids.ts';
import { DEFAULT_RECORD_DAYS, SORT_KEY } from '../../tables.ts';
import type {
  RecordEntry,
  RecordRange,
  RecordStore,
  RefusalBatch,
  RefusedRequest,
  RequestRecord,
} from '../record-store.ts';
import type { RouterStores } from '../router-stores.ts';
import { expiring } from './item-write.ts';
import { createTable, entryOf, type Item, type RangeQuery, type TableOptions } from './table.ts';

/**
 * Partitions of a project's day. One takes 1,000 writes a second, which is more than any of its keys can
 * make; four leave room for projects with many keys.
 */
const SHARDS = 4;
/** Bounds of a partition's sort keys, all of which are printable ASCII. */
const FIRST = ' ';
const LAST = '~';
/** Sorts behind the requests, which begin with `req_`. */
const REFUSALS = 'zref_';
/** One a minute, project and environment. */
const REFUSAL_SHARD = 0;
/**
 * Refused requests have a separate partition: releases before them take every item of the others for a record or a batch.
 * Few are written (records/recorder.ts).
 */
const REFUSED = 'refused';
const REFUSED_DAYS = 7;

/** Keys that seal the hashes of prompts' parts are of no project. */
const SEALS = '|seals';

/** Project ids have no `|`. The id ends in random characters. */
const partitionOf = (projectId: string, day: string, shard: number | typeof REFUSED): string =>
  `${projectId}|${day}|${shard}`;

const shardOf = (id: string): number => id.charCodeAt(id.length - 1) % SHARDS;

/** Records of a shard that a list reads at first: the newest fill most pages, and a megabyte has about 1,500. */
const FIRST_LISTED = 50;

const shards = Array.from({ length: SHARDS }, (_, shard) => shard);

/** A unit is taken within one invocation, so a request may belong to the day after its start. */
const daysOf = (startedAt: number): string[] => [
  ...new Set([dayOf(startedAt), dayOf(startedAt + MAX_INVOCATION_MS)]),
];

type SealKey = { key: string };

const isBatch = (item: Item): boolean => String(item[SORT_KEY]).startsWith(REFUSALS);

const entryIn = (item: Item): RecordEntry =>
  isBatch(item) ? { batch: entryOf<RefusalBatch>(item) } : { record: entryOf<RequestRecord>(item) };

const sortKeyOf = (item: Item): string => String(item[SORT_KEY]);

const earlier = (one: string, other: string): string => (one < other ? one : other);

/** What was written about a project's day; with `from` (ms) what began in that second or later. */
const rangesOf = (projectId: string, day: string, from?: number): RangeQuery[] => {
  const partitions = shards.map((shard) => partitionOf(projectId, day, shard));
  const rangesBetween = (first: string, last: string) =>
    partitions.map((partition) => ({ partition, from: first, to: last }));
  if (from === undefined) return rangesBetween(FIRST, LAST);
  const first = firstRequestIdAt(from);
  const partition = partitionOf(projectId, day, REFUSAL_SHARD);
  return [
    ...rangesBetween(first, REFUSALS),
    { partition, from: REFUSALS + suffixOf(first), to: LAST },
  ];
};

async function* itemsOf(
  pages: AsyncGenerator<Item[], void, void>,
): AsyncGenerator<Item, void, void> {
  for await (const items of pages) yield* items;
}

type Options = TableOptions & {
  /** Days that records are kept. */
  recordDays?: number | undefined;
};

/** The days of a range, the newest first. */
const daysIn = (from: number, to: number): string[] => {
  const days: string[] = [];
  for (let instant = to - 1 + MAX_INVOCATION_MS; dayOf(instant) >= dayOf(from); instant -= DAY_MS)
    days.push(dayOf(instant));
  return days;
};

type Table = ReturnType<typeof createTable>;

/** Items of a range in partitions, by day and id, the newest first. */
const listIn = (table: Table, partitions: readonly (number | typeof REFUSED)[]) =>
  async function* <Entry>({ projectId, from, to, before }: RecordRange) {
    const days = daysIn(from, to).filter((day) => before === undefined || day <= before.day);
    for (const day of days) {
      const last = before?.day === day ? before.id : LAST;
      const bounds = { from: firstRequestIdAt(from), to: earlier(firstRequestIdAt(to), last) };
      // The table rejects an empty range, such as that behind a cursor which has become older than `from`.
      if (bounds.to < bounds.from) continue;
      const sources = partitions.map((shard) => {
        const partition = partitionOf(projectId, day, shard);
        const page = { isDescending: true, firstPage: FIRST_LISTED };
        return itemsOf(table.range({ partition, ...bounds, ...page }));
      });
      for await (const item of mergeDescending(sources, sortKeyOf)) {
        if (sortKeyOf(item) !== last) yield entryOf<Entry>(item);
      }
    }
  };

/** What the router writes of its requests, and finds by its id and its session. */
export const createDynamoRecordWriter = ({
  recordDays = DEFAULT_RECORD_DAYS,
  ...options
}: Options): RouterStores['records'] => {
  // No response waits for a record: its pauses, of up to a second, are those that the recorder allows.
  const table = createTable({ ...options, throttledRepeats: 3 });

  const expiryOf = (day: string, days = recordDays): number =>
    Date.parse(day) + (days + 1) * DAY_MS;

  type Put = { sort: string; revision?: number; expiresAt: number };
  const put = async (partition: string, entry: object, { sort, revision = 1, expiresAt }: Put) => {
    await table.apply(
      { partition, sort },
      {
        set: { entry: JSON.stringify(entry), revision, ...expiring(expiresAt) },
        // A late copy of an earlier revision changes nothing.
        conditions: [['revision', '<= or absent', revision]],
        returns: 'NONE',
      },
    );
  };

  /** By the days to which a request may belong. */
  const findIn = async <Entry>(projectId: string, id: string, shard: number | typeof REFUSED) => {
    const startedAt = requestTimeOf(id);
    if (startedAt === undefined) return undefined;
    for (const day of daysOf(startedAt)) {
      const item = await table.read({ partition: partitionOf(projectId, day, shard), sort: id });
      if (item) return entryOf<Entry>(item);
    }
    return undefined;
  };

  return {
    putRecord: (record, revision) => {
      const { projectId, day, id } = record;
      const expiresAt = expiryOf(day);
      return put(partitionOf(projectId, day, shardOf(id)), record, {
        sort: id,
        revision,
        expiresAt,
      });
    },
    putRefusals: (batch) =>
      put(partitionOf(batch.projectId, batch.day, REFUSAL_SHARD), batch, {
        sort: REFUSALS + batch.id,
        expiresAt: expiryOf(batch.day),
      }),
    putRefused: (refused) =>
      put(partitionOf(refused.projectId, refused.day, REFUSED), refused, {
        sort: refused.id,
        expiresAt: expiryOf(refused.day, Math.min(recordDays, REFUSED_DAYS)),
      }),
    shareSealKey: async (period, { key, expiresAt }) => {
      const place = { partition: SEALS, sort: String(period) };
      // The first environment of a period decides.
      const { applied, item } = await table.apply(place, {
        set: { entry: JSON.stringify({ key }), ...expiring(expiresAt) },
        conditions: [['entry', 'is absent']],
      });
      const stored = applied ? undefined : (item ?? (await table.read(place)));
      return stored ? entryOf<SealKey>(stored).key : key;
    },
    findSealKey: async (period) => {
      const item = await table.read({ partition: SEALS, sort: String(period) });
      return item && entryOf<SealKey>(item).key;
    },
    findRecord: (projectId, id) => findIn<RequestRecord>(projectId, id, shardOf(id)),
    findRefused: (projectId, id) => findIn<RefusedRequest>(projectId, id, REFUSED),
    listRecords: listIn(table, shards),
  };
};

/**
 * `RecordStore` on the records table. A partition is a project's UTC day, so that no read of one project can
 * see another's; a request's id contains its second, so that it is found without an index, which would
 * double the cost of a write.
 */
export const createDynamoRecordStore = (options: Options): RecordStore => {
  const table = createTable(options);
  return {
    ...createDynamoRecordWriter(options),
    listRefused: listIn(table, [REFUSED]),
    hasEntries: async (...day) => {
      for (const range of rangesOf(...day)) {
        const { value } = await table.range({ ...range, firstPage: 1 }).next();
        if (value && value.length > 0) return true;
      }
      return false;
    },
    readDay: async function* (...day) {
      for (const range of rangesOf(...day)) {
        for await (const items of table.range(range)) yield items.map(entryIn);
      }
    },
  };
};
