import { CollectorUnavailable } from '../lambdas/otlp/exporter.ts';
import { expiring } from '../lambdas/stores/dynamo/item-write.ts';
import { type Clock, DAY_MS, withTimeout } from '../lambdas/support/clock.ts';
import { PARTITION_KEY, SORT_KEY } from '../lambdas/tables.ts';
import type { ItemDatabase } from './database/item-database.ts';

const ENTRIES = 'entries';
const SENT = { partition: 'sent', sort: '' };
/** Entries of one export. */
const BATCH = 200;
/** Records of so long are exported together. Milliseconds. */
const DELAY_MS = 1_000;
/** Pauses after a failure double from the first to the second. */
const PAUSES_MS = { first: 1_000, most: 60_000 };
/** What the receiver did not take in this time is dropped, as on AWS. */
const LIFE_MS = DAY_MS;
/** For the last entries, when the router is closed. */
const CLOSE_MS = 1_500;

/** Sort keys in the order of their numbers. */
const sortOf = (number: number): string => String(number).padStart(15, '0');

type Parts<Entry> = {
  database: ItemDatabase;
  /** Of the database, for these entries alone. */
  table: string;
  /** What they are sent to, in a sentence. */
  receiver: string;
  send(entries: Entry[]): Promise<void>;
  clock: Clock;
  onFailure(message: string): void;
};

/**
 * Sends entries from a list in the database: none is lost with the process or while the receiver is away, and no request
 * waits for it. One process writes a database.
 */
export const openOutbox = async <Entry>(parts: Parts<Entry>) => {
  const { database, table, receiver, send, clock, onFailure } = parts;
  const sent = await database.read(table, SENT);
  let last = String(sent?.last ?? '');
  const [newest] = await database.range(table, {
    ...{ partition: ENTRIES, isDescending: true, limit: 1 },
  });
  let number = Number(newest?.[SORT_KEY] ?? (last || 0));
  let cancel: (() => void) | undefined;
  let running: Promise<void> | undefined;
  let pauseMs = 0;
  let isClosed = false;

  const add = async (entry: Entry): Promise<void> => {
    number += 1;
    const sort = sortOf(number);
    await database.change(table, { partition: ENTRIES, sort }, () => ({
      [PARTITION_KEY]: ENTRIES,
      [SORT_KEY]: sort,
      entry: JSON.stringify(entry),
      ...expiring(clock.now() + LIFE_MS),
    }));
    wake(DELAY_MS);
  };

  const sendBatch = async (): Promise<boolean> => {
    const items = await database.range(table, {
      ...{ partition: ENTRIES, limit: BATCH },
      ...(last !== '' && { after: { partition: ENTRIES, sort: last } }),
    });
    const newestSent = items.at(-1)?.[SORT_KEY];
    if (newestSent === undefined) return false;
    await send(items.map(({ entry }) => JSON.parse(String(entry)) as Entry));
    last = String(newestSent);
    await database.change(table, SENT, () => ({ [PARTITION_KEY]: SENT.partition, last }));
    return true;
  };

  /** Sends until nothing is left, or the receiver is away. */
  const sendAll = async (): Promise<void> => {
    try {
      while (await sendBatch());
      pauseMs = 0;
    } catch (error) {
      const asked = error instanceof CollectorUnavailable ? error.retryAfterMs : undefined;
      pauseMs = Math.min(Math.max(pauseMs * 2, PAUSES_MS.first), PAUSES_MS.most);
      onFailure(`What is sent to ${receiver} was not taken and is repeated: ${messageOf(error)}`);
      if (!isClosed) wake(Math.max(asked ?? 0, pauseMs));
    }
  };

  const wake = (ms: number): void => {
    cancel ??= clock.after(ms, () => {
      cancel = undefined;
      const before = running ?? Promise.resolve();
      running = before.then(sendAll);
    });
  };
  wake(0);

  return {
    /** Keeps an entry, which is sent soon. */
    add,
    close: async (): Promise<void> => {
      isClosed = true;
      cancel?.();
      await withTimeout(clock, CLOSE_MS, (running ?? Promise.resolve()).then(sendAll));
    },
  };
};

/** An error and its causes, without what it holds. */
const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} ${messageOf(error.cause)}`;
};
