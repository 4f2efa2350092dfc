import * as z from 'zod';
import { lastDayOf, type Reconciled } from '../history/close-periods.ts';
import { ageOf, publicRow, type ReadsSums, rowsIn } from '../history/read-usage.ts';
import { isWhoGrouping, readGroups } from '../history/read-who.ts';
import { DayTooLong, type Share } from '../history/share.ts';
import { topGroups } from '../history/top-groups.ts';
import { HISTORY_DAYS, type HistoryStore, type UsageRow } from '../stores/history-store.ts';
import type { KeyRecord } from '../stores/key-store.ts';
import { UnreadableItem } from '../stores/store-unavailable.ts';
import { DAY_MS, dayOf } from '../support/clock.ts';
import { invalidRequest } from '../support/errors.ts';
import { keptRange, Month, readInput } from './input.ts';
import type { Operation, OperationParts } from './operation.ts';
import { readPage } from './page.ts';
import { projectsSeenBy, requireProject } from './projects.ts';
import { USAGE_CURSOR, type UsageQuery } from './queries.ts';

type ReadsHistory = ReadsSums & Pick<HistoryStore, 'readSpent'>;

const DEFAULT_DAYS = 30;

/** About 310 bytes each: a response has at most 6 MB. */
const PAGE_ROWS = 5_000;
/** Rows that one response reads to add them up: about 12 of the 29 s that it has. */
const MAX_ROWS = 250_000;
/** Sums by key that are read in the time of a row. */
const SUMS_PER_ROW = 4;
/** Sums that one response has, of 400 bytes. */
const MAX_SUMS = 10_000;
/** Keys whose names are read one by one; of more, with all keys of their projects. */
const MOST_ALONE = 250;

const tooMany = (what: string) =>
  invalidRequest(
    `The range has more than ${what}. Ask for fewer days or for one project, or without 'by' for the rows in pages.`,
    { param: 'since' },
  );

/** The history as far as one response can read it. @throws ApiError 400 */
export const limitRows = (history: ReadsHistory): ReadsHistory => {
  let count = 0;
  async function* limit<Row>(
    pages: AsyncGenerator<Row[], void, void>,
    sizeOf: (row: Row) => number,
  ) {
    for await (const rows of pages) {
      count += rows.reduce((sum, row) => sum + sizeOf(row), 0);
      if (count > MAX_ROWS) throw tooMany(`${MAX_ROWS} rows`);
      yield rows;
    }
  }
  return {
    ...history,
    readRows: (range) => limit(history.readRows(range), () => 1),
    readSums: (...read) =>
      limit(history.readSums(...read), ({ sums }) => Math.ceil(sums.length / SUMS_PER_ROW)),
  };
};

/** @throws ApiError 400 */
const limited = <Row>(rows: Row[]): Row[] => {
  if (rows.length > MAX_SUMS) throw tooMany(`${MAX_SUMS} sums`);
  return rows;
};

const placeOf = ({ projectId, day, keyId, model }: UsageRow): string =>
  [projectId, day, keyId, model].join('|');

/** Where a page begins: the first project's first row by default. */
const readCursor = (cursor: string | undefined, [first = '']: string[]) => {
  const [, projectId = first, day, keyId = '', model = ''] = USAGE_CURSOR.exec(cursor ?? '') ?? [];
  return { projectId, after: day === undefined ? undefined : { day, keyId, model } };
};

/** After this time a page begins no other step; the REST API ends a request after 29 s. */
const RECONCILE_MS = 5_000;
/** After this time it stops within a step. */
const MAX_STEP_MS = 20_000;

const publicComparison = ({ projectId, meterId, period, used, recorded }: Reconciled) => ({
  project: projectId,
  meter: meterId,
  ...{ period, used, recorded },
  difference: used - recorded,
});

const notOfOneKey = () =>
  invalidRequest(
    'by: users, sessions, agents, clients and tags are summed by project, not by key.',
    {
      param: 'by',
    },
  );

const onlySums = () =>
  invalidRequest('by: missing. Only sums have a limit and a sort.', { param: 'by' });

/** The keys that a query names; undefined for all. */
const keysIn = ({ key, keys }: Pick<UsageQuery, 'key' | 'keys'>): readonly string[] | undefined =>
  keys ?? (key === undefined ? undefined : [key]);

type Days = { from: string; to: string };

/** The UTC days of a range of instants, of those that are kept. @throws ApiError 400 */
const daysOf = (since: number, until: number, now: number): Days => {
  if (until <= since) throw invalidRequest('since: must be before until.', { param: 'since' });
  const { from, to } = keptRange({ since, until }, HISTORY_DAYS, now);
  return { from: dayOf(from), to: dayOf(to - 1) };
};

export const historyHandlers = ({
  history,
  reconcileProject,
  projects,
  keys,
  clock,
}: OperationParts) => {
  /** Rows by key with its name. Names are looked up here: a log line or a record has the id only. */
  const withNames = async <Row extends { key?: string; project?: string }>(
    rows: Row[],
    ids: string[],
  ) => {
    const alone = ({ key = '', project }: Row) => project && keys.findKeyById(project, key);
    const records: (KeyRecord | undefined | '')[] =
      rows.length > MOST_ALONE
        ? (await Promise.all(ids.map((id) => keys.listKeys(id)))).flat()
        : await Promise.all(rows.map(alone));
    const names = new Map(
      records.flatMap((record) => (record ? [[record.keyId, record.name]] : [])),
    );
    return rows.map((row) => ({ name: names.get(row.key ?? '') ?? null, project: null, ...row }));
  };

  /** Read before the rows, which are then at least as new. */
  const ageOfProjects = async (ids: string[]) =>
    ageOf(await Promise.all(ids.map((id) => history.readProgress(id))), clock.now());

  /** The rows themselves, of one project on each page, so that an export of any size streams. */
  const pageOf = async (ids: string[], days: Days, { cursor, ...wanted }: UsageQuery) => {
    const named = keysIn(wanted);
    const { projectId, after } = readCursor(cursor, ids);
    const index = ids.indexOf(projectId);
    if (index === -1) return { ...days, ...ageOf([], clock.now()), data: [], next_cursor: null };
    const age = await ageOfProjects([projectId]);
    const page = await readPage(rowsIn(history, { projectId, ...days, after }), {
      limit: PAGE_ROWS,
      isWanted: ({ keyId }) => named === undefined || named.includes(keyId),
      placeOf,
    });
    const next = page.next_cursor ?? ids[index + 1] ?? null;
    return { ...days, ...age, data: page.data.map(publicRow), next_cursor: next };
  };

  const usage = (async ({ query: wanted, identity }) => {
    const now = clock.now();
    const { since = now - DEFAULT_DAYS * DAY_MS, until = now + 1, by, limit, sort } = wanted;
    const named = keysIn(wanted);
    const days = daysOf(since, until, now);
    if (by === undefined && (limit ?? sort) !== undefined) throw onlySums();
    const ids = await projectsSeenBy(projects, identity, wanted.project);
    if (by === undefined) return { status: 200, body: await pageOf(ids, days, wanted) };
    const age = await ageOfProjects(ids);
    if (named && isWhoGrouping(by)) throw notOfOneKey();
    const ranges = ids.map((projectId) => ({ projectId, ...days }));
    const read = await readGroups(limitRows(history), ranges, {
      by: [by],
      keys: named,
      ...(limit !== undefined && { select: (all) => topGroups(all, limit, sort) }),
    });
    const {
      data: [sums = []],
      total,
    } = read;
    const data = by === 'key' ? await withNames(limited(sums), ids) : limited(sums);
    return { status: 200, body: { ...days, ...age, by, data, total, next_cursor: null } };
  }) satisfies Operation<'usage'>;

  /** A month of a project by model and key, and what its meters counted. */
  const statement = (async ({ parameters: { project = '', month: text = '' } }) => {
    const { month } = readInput(z.strictObject({ month: Month }), { month: text });
    await requireProject(projects, project);
    const range = { projectId: project, from: `${month}-01`, to: lastDayOf(month) };
    const { data: sums, total } = await readGroups(limitRows(history), [range], {
      by: ['model', 'key', 'user', 'session', 'agent', 'client'],
    });
    const [by_model = [], byKey = [], by_user, by_session, by_agent, by_client] = sums;
    const periods = await history.readPeriods(project, month);
    const progress = await history.readProgress(project);
    const isKept = clock.now() - Date.parse(range.from) < HISTORY_DAYS * DAY_MS;
    return {
      status: 200,
      body: {
        project,
        month,
        is_final: isKept && progress !== undefined && progress.closedDay >= range.to,
        ...ageOf([progress], clock.now()),
        by_model,
        by_key: await withNames(limited(byKey), [project]),
        ...{ by_user, by_session, by_agent, by_client },
        total,
        periods: periods.map(({ meterId, period, used }) => ({ meter: meterId, period, used })),
      },
    };
  }) satisfies Operation<'statement'>;

  /** Rows of a project and, if there was no time for all of it, the place where the next page continues. */
  const comparisonsOf = async (
    project: string,
    share: Share,
  ): Promise<{ rows: object[]; next?: string }> => {
    try {
      const { reconciled, ...rest } = await reconcileProject(project, share);
      return { rows: reconciled.map(publicComparison), ...rest };
    } catch (error) {
      if (error instanceof UnreadableItem) return { rows: [{ project, unreadable: true }] };
      if (error instanceof DayTooLong) return { rows: [{ project, unfinished: error.day }] };
      throw error;
    }
  };

  /** Brings the history up to date and compares each closed period with its records, project after project. */
  const reconcile = (async ({ query: wanted, identity }) => {
    const ids = await projectsSeenBy(projects, identity, wanted.project);
    const startedAt = clock.now();
    const isOver = () => clock.now() - startedAt >= RECONCILE_MS;
    const isLate = () => clock.now() - startedAt >= MAX_STEP_MS;
    const data: object[] = [];
    let [id, after = ''] = (wanted.cursor ?? ids[0] ?? '').split('|');
    for (let index = ids.indexOf(id ?? ''); index !== -1 && index < ids.length; index += 1) {
      id = ids[index] ?? '';
      const { rows, next } = await comparisonsOf(id, { after, isOver, isLate });
      data.push(...rows);
      after = '';
      if (next !== undefined) return { status: 200, body: { data, next_cursor: `${id}|${next}` } };
      if (isOver()) return { status: 200, body: { data, next_cursor: ids[index + 1] ?? null } };
    }
    return { status: 200, body: { data, next_cursor: null } };
  }) satisfies Operation<'reconcile'>;

  return { usage, statement, reconcile };
};
