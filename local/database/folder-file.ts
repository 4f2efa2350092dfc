import { statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../cli/make-folder.ts';
import { KEYS_BY_PROJECT } from '../../lambdas/tables.ts';
import { DatabaseError } from './item-database.ts';

const FILE = 'model-router.sqlite';
/** "mrtr": so that a file of another program is not taken for ours. */
const APPLICATION = 0x6d_72_74_72;
/** Pages of the log after which a commit moves them into the file: 16 MB. */
const LOG_PAGES = 4_000;
/** Raised by a version whose files this one cannot read. */
const LAYOUT = 1;

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

/** Result codes of SQLite. */
const REASONS: Record<number, string> = {
  5: 'is in use by another process: one process writes a data folder. Stop the other one, or choose another folder',
  8: 'cannot be written: it is read-only',
  10: 'cannot be read or written: the disk or the file system failed',
  11: 'is damaged: restore a copy of it',
  13: 'cannot be written: the disk is full',
  14: 'cannot be opened: no file can be created in it',
  3850: 'cannot be locked: its file is read-only for this user, or the file system has no locks',
  26: 'holds a file that is not a database: restore a copy of it, or choose another folder',
};

const reasonOf = (cause: unknown): string => {
  const code = cause instanceof Error && 'errcode' in cause ? Number(cause.errcode) : 0;
  return REASONS[code] ?? REASONS[code & 0xff] ?? 'cannot be used';
};

/** An error of SQLite for the operator. */
export const failure = (folder: string, cause: unknown): DatabaseError =>
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
export type Connection = InstanceType<Awaited<ReturnType<typeof loadSqlite>>['DatabaseSync']>;

const pragma = (connection: Connection, name: string): number =>
  Number(Object.values(connection.prepare(`PRAGMA ${name}`).get() ?? {})[0]);

/** Locks the file, and lays it out if it is new. @throws if it is another's, damaged or of a later version */
const prepareFile = (connection: Connection, folder: string): void => {
  // Held until the process ends, however it ends. A commit is in the file's log when it returns; the log reaches the
  // disk at a checkpoint, so that what the system itself loses with its power is the last commits, never the file. A
  // checkpoint flushes the disk while requests wait, with SQLite's limit at one of 200 requests.
  // What was replaced is overwritten: callers delete what they stored.
  connection.exec(
    `PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;
    PRAGMA wal_autocheckpoint = ${LOG_PAGES}; BEGIN IMMEDIATE`,
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

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/**
 * An empty file is new: a first start that was killed leaves one. SQLite deletes the log next to it, which may hold all that was
 * written. @throws DatabaseError
 */
const requireFileOfLog = (path: string, folder: string): void => {
  if (sizeOf(path) > 0 || sizeOf(`${path}-wal`) === 0) return;
  throw new DatabaseError(
    `The data folder ${folder} holds the log of a database whose file is empty or missing: restore a copy of both, or choose another folder.`,
  );
};

/** Opens and locks the file of a folder, and creates both. @throws DatabaseError */
export const openFile = async (folder: string): Promise<Connection> => {
  const { DatabaseSync } = await loadSqlite();
  try {
    makeFolder(folder, 0o700);
  } catch (cause) {
    throw new DatabaseError(`The data folder ${folder} cannot be created.`, { cause });
  }
  let connection: Connection | undefined;
  try {
    const path = join(folder, FILE);
    requireFileOfLog(path, folder);
    connection = new DatabaseSync(path);
    prepareFile(connection, folder);
    return connection;
  } catch (cause) {
    connection?.close();
    throw failure(folder, cause);
  }
};
