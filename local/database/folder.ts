import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { SQLInputValue } from 'node:sqlite';
import type { Item } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { createLruCache } from '../../lambdas/support/lru-cache.ts';
import { KEYS_BY_PROJECT, TTL_ATTRIBUTE } from '../../lambdas/tables.ts';
import {
  DatabaseError,
  type ItemDatabase,
  type ItemPlace,
  type ItemRange,
} from './item-database.ts';

const FILE = 'model-router.sqlite';
/** "mrtr": so that a file of another program is not taken for ours. */
const APPLICATION = 0x6d_72_74_72;
/** Raised by a version whose files this one cannot read. */
const LAYOUT = 1;
/** Items without a sort key that were used last: keys, plans and meters, which each request reads. */
const KEPT_ITEMS = 10_000;

const SCHEMA = `
  CREATE TABLE items (
    tbl TEXT NOT NULL, pk TEXT NOT NULL, sk TEXT NOT NULL, item TEXT NOT NULL, ttl INTEGER,
    PRIMARY KEY (tbl, pk, sk)
  ) WITHOUT ROWID;
  CREATE INDEX keys_by_project ON items (
    json_extract(item, '$.${KEYS_BY_PROJECT.partitionKey}'),
    json_extract(item, '$.${KEYS_BY_PROJECT.sortKey}')
  ) WHERE tbl = 'keys';
  CREATE INDEX by_ttl ON items (ttl) WHERE ttl IS NOT NULL;
  PRAGMA application_id = ${APPLICATION};
  PRAGMA user_version = ${LAYOUT};
`;

/** Primary result codes of SQLite. */
const REASONS: Record<number, string> = {
  5: 'is in use by another process: one process writes a data folder. Stop the other one, or choose another folder',
  8: 'cannot be written: it is read-only',
  10: 'cannot be read or written: the disk or the file system failed',
  11: 'is damaged: restore a copy of it',
  13: 'cannot be written: the disk is full',
  14: 'cannot be opened: no file can be created in it',
  26: 'holds a file that is not a database: restore a copy of it, or choose another folder',
};

const reasonOf = (cause: unknown): string => {
  const code = cause instanceof Error && 'errcode' in cause ? Number(cause.errcode) & 0xff : 0;
  return REASONS[code] ?? 'cannot be used';
};

const failure = (folder: string, cause: unknown): DatabaseError =>
  cause instanceof DatabaseError
    ? cause
    : new DatabaseError(`The data folder ${folder} ${reasonOf(cause)}.`, { cause });

/** @throws DatabaseError on a Node without it */
const loadSqlite = async () => {
  try {
    return await import('node:sqlite');
  } catch (cause) {
    const reason = `A data folder needs Node 22.13 or newer; this is ${process.version}.`;
    throw new DatabaseError(reason, { cause });
  }
};
type Connection = InstanceType<Awaited<ReturnType<typeof loadSqlite>>['DatabaseSync']>;

const pragma = (connection: Connection, name: string): number =>
  Number(Object.values(connection.prepare(`PRAGMA ${name}`).get() ?? {})[0]);

/** Locks the file, and lays it out if it is new. @throws if it is another's, damaged or of a later version */
const prepareFile = (connection: Connection, folder: string): void => {
  // Held until the process ends, however it ends. A commit is in the file's log when it returns; the log reaches the
  // disk at a checkpoint, so that what the system itself loses with its power is the last commits, never the file.
  connection.exec(
    'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE',
  );
  const layout = pragma(connection, 'user_version');
  const application = pragma(connection, 'application_id');
  const isNew = pragma(connection, 'schema_version') === 0 && application === 0;
  if (isNew) connection.exec(SCHEMA);
  else if (application !== APPLICATION) {
    throw new DatabaseError(`The data folder ${folder} holds a database of another program.`);
  } else if (layout > LAYOUT) {
    throw new DatabaseError(
      `A later version of the router wrote the data folder ${folder}. Use that version, or another folder.`,
    );
  }
  connection.exec('COMMIT');
};

const openFile = async (folder: string): Promise<Connection> => {
  const { DatabaseSync } = await loadSqlite();
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new DatabaseError(`The data folder ${folder} cannot be created.`, { cause });
  }
  let connection: Connection | undefined;
  try {
    connection = new DatabaseSync(join(folder, FILE));
    prepareFile(connection, folder);
    return connection;
  } catch (cause) {
    connection?.close();
    throw failure(folder, cause);
  }
};

const itemIn = (row: object | undefined): Item | undefined =>
  row && 'item' in row ? (JSON.parse(String(row.item)) as Item) : undefined;

const cacheKey = (table: string, partition: string): string => `${table} ${partition}`;

type Select = (sql: string, values: SQLInputValue[]) => Item[];

/** Statements of ranges differ by their bounds, and are prepared once. */
const createSelect = (connection: Connection): Select => {
  const prepared = new Map<string, ReturnType<Connection['prepare']>>();
  return (sql, values) => {
    const statement = prepared.get(sql) ?? connection.prepare(sql);
    prepared.set(sql, statement);
    return statement.all(...values).flatMap((row) => {
      const item = itemIn(row);
      return item ? [item] : [];
    });
  };
};

const selectRange = (select: Select, table: string, range: ItemRange): Item[] => {
  const { partition, from, to, after, isDescending = false, limit } = range;
  const bounds: [condition: string, value: string | undefined][] = [
    ['sk >= ?', from],
    ['sk <= ?', to],
    [isDescending ? 'sk < ?' : 'sk > ?', after?.sort],
  ];
  const set = bounds.flatMap(([condition, value]) =>
    value === undefined ? [] : [{ condition, value }],
  );
  const where = ['tbl = ?', 'pk = ?', ...set.map(({ condition }) => condition)].join(' AND ');
  const order = isDescending ? 'DESC' : 'ASC';
  return select(`SELECT item FROM items WHERE ${where} ORDER BY sk ${order} LIMIT ?`, [
    ...[table, partition, ...set.map(({ value }) => value)],
    limit,
  ]);
};

const SELECT_KEYS = `SELECT item FROM items
  WHERE tbl = 'keys' AND json_extract(item, '$.projectId') = ?
    AND json_extract(item, '$.keyId') BETWEEN ? AND ? AND json_extract(item, '$.keyId') > ?
  ORDER BY json_extract(item, '$.keyId') LIMIT ?`;
const SELECT_ALL =
  'SELECT item FROM items WHERE tbl = ? AND (pk, sk) > (?, ?) ORDER BY pk, sk LIMIT ?';
const UPSERT = `INSERT INTO items (tbl, pk, sk, item, ttl) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET item = excluded.item, ttl = excluded.ttl`;
/** Behind every text that is stored. */
const LAST = '\u{10FFFF}';

type Options = {
  folder: string;
  /** Told why a call failed: the message is for the operator. */
  onFailure: (message: string) => void;
};

/**
 * `ItemDatabase` in a folder: an SQLite file that this process locks, so that a kept item is the stored one. Each change is
 * one transaction.
 * @throws DatabaseError that says why the folder cannot be used
 */
export const openFolder = async ({ folder, onFailure }: Options): Promise<ItemDatabase> => {
  const connection = await openFile(folder);
  const select = createSelect(connection);
  const selectOne = connection.prepare(
    'SELECT item FROM items WHERE tbl = ? AND pk = ? AND sk = ?',
  );
  const upsert = connection.prepare(UPSERT);
  const expire = connection.prepare('DELETE FROM items WHERE ttl <= ?');
  let kept = createLruCache<Item>(KEPT_ITEMS);

  /** @throws DatabaseError: nothing was written */
  const attempt = <Value>(run: () => Value): Value => {
    try {
      return run();
    } catch (cause) {
      const error = failure(folder, cause);
      onFailure(error.message);
      throw error;
    }
  };

  const find = (table: string, { partition, sort }: ItemPlace): Item | undefined => {
    const known = sort === '' ? kept.get(cacheKey(table, partition)) : undefined;
    if (known) return known;
    const item = attempt(() => itemIn(selectOne.get(table, partition, sort)));
    if (item && sort === '') kept.set(cacheKey(table, partition), item);
    return item;
  };

  return {
    read: find,
    change: (table, place, change) => {
      const after = change(find(table, place));
      if (!after) return;
      const { partition, sort } = place;
      const ttl = Number(after[TTL_ATTRIBUTE]) || null;
      attempt(() => upsert.run(table, partition, sort, JSON.stringify(after), ttl));
      if (sort === '') kept.set(cacheKey(table, partition), after);
    },
    range: (table, range) => attempt(() => selectRange(select, table, range)),
    keysOfProject: (table, { partition, from = '', to = LAST, after, limit }) => {
      const behind = after ? String(find(table, after)?.[KEYS_BY_PROJECT.sortKey] ?? '') : '';
      return attempt(() => select(SELECT_KEYS, [partition, from, to, behind, limit]));
    },
    scan: (table, { after, limit }) => {
      const { partition, sort } = after ?? { partition: '', sort: '' };
      return attempt(() => select(SELECT_ALL, [table, partition, sort, limit]));
    },
    expire: (now) => {
      attempt(() => expire.run(Math.floor(now / 1_000)));
      kept = createLruCache<Item>(KEPT_ITEMS);
    },
    close: () => connection.close(),
  };
};
