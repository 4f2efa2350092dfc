import * as z from 'zod';
import { lastDayOf } from '../history/close-periods.ts';
import type { HistoryJob } from '../history/history-job.ts';
import { ageOf, createUsageGroups, GROUPINGS, publicRow, rowsIn } from '../history/read-usage.ts';
import { HISTORY_DAYS, type HistoryStore } from '../stores/history-store.ts';
import type { KeyStore } from '../stores/key-store.ts';
import type { ProjectStore } from '../stores/project-store.ts';
import { listOf } from '../support/async-lists.ts';
import type { Clock } from '../support/clock.ts';
import { DAY_MS, dayOf } from '../support/clock.ts';
import { invalidRequest } from '../support/errors.ts';
import { Instant, keptRange, Month, readQuery, SoughtId } from './input.ts';
import type { AdminOperation } from './operation.ts';
import { projectsSeenBy, requireProject } from './projects.ts';
import type { Identity } from './roles.ts';

type Parts = {
  history: Pick<HistoryStore, 'readRows' | 'readPeriods' | 'readProgress'>;
  runHistory: HistoryJob['run'];
  projects: Pick<ProjectStore, 'findProject' | 'listProjects'>;
  keys: Pick<KeyStore, 'listKeys'>;
  clock: Clock;
};

const DEFAULT_DAYS = 30;

const UsageQuery = z.strictObject({
  since: Instant.exactOptional(),
  /** Not included, if it is the first instant of a day. */
  until: Instant.exactOptional(),
  by: z.enum(GROUPINGS).exactOptional(),
  project: SoughtId.exactOptional(),
  key: SoughtId.exactOptional(),
  /** The project of the next page. */
  cursor: SoughtId.exactOptional(),
});
type UsageQuery = z.infer<typeof UsageQuery>;

type Days = { from: string; to: string };

/** The UTC days of a range of instants, of those that are kept. @throws ApiError 400 */
const daysOf = (since: number, until: number, now: number): Days => {
  if (until <= since) throw invalidRequest('since: must be before until.', { param: 'since' });
  const { from, to } = keptRange({ since, until }, HISTORY_DAYS, now);
  return { from: dayOf(from), to: dayOf(to - 1) };
};

export const historyHandlers = ({ history, runHistory, projects, keys, clock }: Parts) => {
  /** Rows by key with its name and project. Names are looked up here: a log line or a record has the id only. */
  const withNames = async <Row extends Record<string, unknown>>(rows: Row[], ids: string[]) => {
    const all = (await Promise.all(ids.map((id) => keys.listKeys(id)))).flat();
    const byId = new Map(all.map((record) => [record.keyId, record]));
    return rows.map((row) => {
      const { name = null, projectId: project = null } = byId.get(String(row.key)) ?? {};
      return { name, project, ...row };
    });
  };

  /** Read before the rows, which are then at least as new. */
  const ageOfProjects = async (ids: string[]) =>
    ageOf(await Promise.all(ids.map((id) => history.readProgress(id))), clock.now());

  const projectsOf = async ({ project }: UsageQuery, identity: Identity): Promise<string[]> => {
    if (project === undefined) return projectsSeenBy(projects, identity);
    await requireProject(projects, project, identity);
    return [project];
  };

  /** The rows themselves, a project on each page, so that an export of any size streams. */
  const pageOf = async (ids: string[], days: Days, { cursor, key }: UsageQuery) => {
    const index = cursor === undefined ? 0 : ids.indexOf(cursor);
    const projectId = ids[index];
    const range = projectId === undefined ? undefined : { projectId, ...days };
    const age = await ageOfProjects(projectId === undefined ? [] : [projectId]);
    const data = range ? (await listOf(rowsIn(history, range, key))).map(publicRow) : [];
    return { ...days, ...age, data, next_cursor: ids[index + 1] ?? null };
  };

  const usage: AdminOperation = async ({ query, identity }) => {
    const wanted = readQuery(UsageQuery, query);
    const now = clock.now();
    const { since = now - DEFAULT_DAYS * DAY_MS, until = now + 1, by, key } = wanted;
    const days = daysOf(since, until, now);
    const ids = await projectsOf(wanted, identity);
    if (by === undefined) return { status: 200, body: await pageOf(ids, days, wanted) };
    const age = await ageOfProjects(ids);
    const groups = createUsageGroups(by);
    for (const projectId of ids) {
      for await (const row of rowsIn(history, { projectId, ...days }, key)) groups.add(row);
    }
    const data = by === 'key' ? await withNames(groups.rows(), ids) : groups.rows();
    return {
      status: 200,
      body: { ...days, ...age, by, data, total: groups.total(), next_cursor: null },
    };
  };

  /** A month of a project by model and key, and what its meters counted. */
  const statement: AdminOperation = async ({ parameters: { project = '', month: text = '' } }) => {
    const { month } = readQuery(z.strictObject({ month: Month }), { month: text });
    await requireProject(projects, project);
    const range = { projectId: project, from: `${month}-01`, to: lastDayOf(month) };
    const [byModel, byKey] = [createUsageGroups('model'), createUsageGroups('key')];
    for await (const row of rowsIn(history, range)) {
      byModel.add(row);
      byKey.add(row);
    }
    const periods = await history.readPeriods(project, month);
    const progress = await history.readProgress(project);
    return {
      status: 200,
      body: {
        project,
        month,
        is_final: progress !== undefined && progress.closedDay >= range.to,
        ...ageOf([progress], clock.now()),
        by_model: byModel.rows(),
        by_key: await withNames(byKey.rows(), [project]),
        total: byModel.total(),
        periods: periods.map(({ meterId, period, used }) => ({ meter: meterId, period, used })),
      },
    };
  };

  /** Brings the history up to date and compares each closed period with its records. */
  const reconcile: AdminOperation = async ({ query }) => {
    const { project } = readQuery(z.strictObject({ project: SoughtId.exactOptional() }), query);
    if (project !== undefined) await requireProject(projects, project);
    const data = (await runHistory(project)).map(
      ({ projectId, meterId, period, used, recorded }) => ({
        project: projectId,
        meter: meterId,
        period,
        used,
        recorded,
        difference: used - recorded,
      }),
    );
    return { status: 200, body: { data } };
  };

  return { usage, statement, reconcile };
};
