import type { SQLInputValue } from 'node:sqlite';
import type { Item } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { createLruCache, oncePer } from '../../lambdas/support/memo.ts';
import { KEYS_BY_PROJECT, TTL_ATTRIBUTE } from '../../lambdas/tables.ts';
import { type Connection, failure, openFile } from './folder-file.ts';
import { type ItemDatabase, type ItemPlace, type ItemRange, listOf } from './item-database.ts';

/** Items without a sort key that were used last: keys, plans and meters, which each request reads. */
const KEPT_ITEMS = 10_000;

const itemIn = (row: object | undefined): Item | undefined =>
  row && 'item' in row ? (JSON.parse(String(row.item)) as Item) : undefined;

const cacheKey = (table: string, partition: string): string => `${table} ${partition}`;

type Select = (sql: string, values: SQLInputValue[]) => Item[];

/** Statements of ranges differ by their bounds, and are prepared once. */
const createSelect = (connection: Connection): Select => {
  const statementOf = oncePer(new Map<string, ReturnType<Connection['prepare']>>(), (sql) =>
    connection.prepare(sql),
  );
  return (sql, values) =>
    statementOf(sql)
      .all(...values)
      .flatMap((row) => listOf(itemIn(row)));
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
      attempt(() => {
        expire.run(Math.floor(now / 1_000));
        // The log holds what changes have replaced.
        connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      });
      kept = createLruCache<Item>(KEPT_ITEMS);
    },
    close: () => connection.close(),
  };
};
