import { expiring } from '../lambdas/stores/dynamo/item-write.ts';
import type { RequestRecord } from '../lambdas/stores/record-store.ts';
import { type Clock, DAY_MS } from '../lambdas/support/clock.ts';
import { PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE } from '../lambdas/tables.ts';
import type { ItemDatabase } from './database/item-database.ts';

type Day = Pick<RequestRecord, 'projectId' | 'day'>;

const TABLE = 'unsettled';
/** A day is closed from all its records by then. */
const LIFE_MS = 3 * DAY_MS;
/** Far more than the days that are open in all projects. */
const MOST_DAYS = 10_000;

/** Where unsettled days outlive the process. */
export type UnsettledStore = {
  list(): Promise<Day[]>;
  add(day: Day): Promise<void>;
  remove(day: Day): Promise<void>;
};

export const createUnsettledStore = (database: ItemDatabase, clock: Clock): UnsettledStore => {
  const put = async ({ projectId, day }: Day, expiresAt: number) => {
    await database.change(TABLE, { partition: projectId, sort: day }, () => ({
      [PARTITION_KEY]: projectId,
      [SORT_KEY]: day,
      ...expiring(expiresAt),
    }));
  };
  return {
    list: async () => {
      const items = await database.scan(TABLE, { limit: MOST_DAYS });
      return items
        .filter((item) => Number(item[TTL_ATTRIBUTE]) * 1_000 > clock.now())
        .map((item) => ({ projectId: String(item[PARTITION_KEY]), day: String(item[SORT_KEY]) }));
    },
    add: (day) => put(day, clock.now() + LIFE_MS),
    // Expired; an instant of 0 would be none.
    remove: (day) => put(day, 1_000),
  };
};

type Entry = Day & { isWritten: boolean };

/**
 * The days with records that began before what is settled, until a fold has read them. A day is stored before its record
 * is, so that the next process reads it again if this one is killed before its fold.
 */
export const openUnsettledDays = async (store: UnsettledStore) => {
  const entries = new Set<Entry>();
  for (const day of await store.list()) entries.add({ ...day, isWritten: true });

  const has = (projectId: string, day: string): boolean =>
    [...entries].some((one) => one.projectId === projectId && one.day === day);

  return {
    has,
    /** Writes a record that began before what is settled. */
    write: async (
      { projectId, day }: RequestRecord,
      putRecord: () => Promise<void>,
    ): Promise<void> => {
      const entry = { projectId, day, isWritten: false };
      entries.add(entry);
      try {
        await store.add(entry);
        await putRecord();
      } finally {
        entry.isWritten = true;
      }
    },
    /** What a fold reads that begins now; to be called once it has. */
    beginFold: () => {
      const known = [...entries].filter(({ isWritten }) => isWritten);
      return async (): Promise<void> => {
        for (const entry of known) {
          entries.delete(entry);
          if (!has(entry.projectId, entry.day)) await store.remove(entry);
        }
      };
    },
  };
};
export type UnsettledDays = Awaited<ReturnType<typeof openUnsettledDays>>;
