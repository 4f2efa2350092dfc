import { ageOf, createUsageGroups, publicGroups } from '../history/read-usage.ts';
import { namedIn } from '../history/read-who.ts';
import { StoreUnavailable, UnreadableItem } from '../stores/store-unavailable.ts';
import { DAY_MS, dayOf } from '../support/clock.ts';
import { ApiError } from '../support/errors.ts';
import { limitRows } from './history.ts';
import type { Operation, OperationParts } from './operation.ts';
import { planHandlers } from './plans.ts';
import { projectHandlers, projectsSeenBy } from './projects.ts';
import { createReadCounts, type KeyUsage } from './quota-usage.ts';
import { requestHandlers } from './requests.ts';

/** Days that are shown, and as many before them to compare with. */
const DAYS = 14;
/** The keys with the most requests of these days, also of those that were refused, are looked at. */
const BUSY_DAYS = 7;
const MOST_KEYS = 100;
/** The share of a quota from which on a key is named: that of the first event. */
const NEAR = 0.5;
const FAILED = 5;

/** A section that cannot be read leaves the others. */
const sectionOf = async <Value>(read: Promise<Value>): Promise<Value | { failure: string }> => {
  try {
    return await read;
  } catch (error) {
    if (error instanceof ApiError) return { failure: error.message };
    const isStore = error instanceof StoreUnavailable || error instanceof UnreadableItem;
    if (isStore) return { failure: 'The tables are unavailable. Try again.' };
    throw error;
  }
};

const shareOf = ({ used = 0, quota }: KeyUsage): number =>
  quota === undefined ? 0 : used / Math.max(1, quota);

const isUsable = ({ status }: KeyUsage): boolean => status !== 'revoked' && status !== 'expired';

/** What the first page of the console shows, in one response: a section each of usage, keys and failed requests. */
export const createOverview = (parts: OperationParts) => {
  const { history, projects, clock } = parts;
  const [projectLists, planLists, requests] = [
    projectHandlers(parts),
    planHandlers(parts),
    requestHandlers(parts),
  ];
  const readCounts = createReadCounts(parts);

  /** Days, the days before, and the keys that are asked for most. */
  const readUsage = async (ids: string[], now: number) => {
    const firstOf = (days: number) => dayOf(now - (days - 1) * DAY_MS);
    const to = dayOf(now);
    const [days, before] = [createUsageGroups('day'), createUsageGroups('day')];
    const keys = new Map<string, { project: string; asked: number }>();
    const age = ageOf(await Promise.all(ids.map((id) => history.readProgress(id))), now);
    const read = limitRows(history);
    const since = (from: string) => ({ ranges: ids.map((projectId) => ({ projectId, from, to })) });
    for await (const page of namedIn(read, since(firstOf(2 * DAYS)), 'model')) {
      for (const sums of page) (sums.day >= firstOf(DAYS) ? days : before).add(sums);
    }
    for await (const page of namedIn(read, since(firstOf(BUSY_DAYS)), 'key')) {
      for (const { keyId, projectId, charged, refused } of page) {
        const asked = charged + refused + (keys.get(keyId)?.asked ?? 0);
        keys.set(keyId, { project: projectId, asked });
      }
    }
    const sums = {
      data: publicGroups('day', days.groups()),
      total: days.total(),
      before: before.total(),
    };
    const busiest = [...keys]
      .toSorted(([, one], [, other]) => other.asked - one.asked)
      .slice(0, MOST_KEYS);
    return { usage: { from: firstOf(DAYS), to, ...age, ...sums }, busiest };
  };

  /** Keys near the end of their quota, the fullest first. */
  const readNear = async (busiest: [id: string, { project: string }][]) => {
    const byProject = Object.groupBy(busiest, ([, { project }]) => project);
    const rows = Object.entries(byProject).map(async ([project, keys = []]) => {
      const ids = keys.map(([id]) => id);
      return (await readCounts(project, ids)).map((row) => ({ ...row, project }));
    });
    return (await Promise.all(rows))
      .flat()
      .filter((row) => isUsable(row) && shareOf(row) >= NEAR)
      .toSorted((one, other) => shareOf(other) - shareOf(one));
  };

  const readFigures = async (ids: string[]) => {
    const { usage, busiest } = await readUsage(ids, clock.now());
    return { usage, near: await sectionOf(readNear(busiest)) };
  };

  const overview = (async (request) => {
    const { query, identity } = request;
    const ids = await projectsSeenBy(projects, identity, query.project);
    const failed = { ...query, status: 'failed', limit: FAILED };
    const [projectList, planList, figures, requestList] = await Promise.all([
      projectLists['projects.list'](request),
      planLists['plans.list'](),
      sectionOf(readFigures(ids)),
      sectionOf(requests['requests.list']({ ...request, query: failed })),
    ]);
    const body = {
      projects: projectList.body.data,
      plans: planList.body.data,
      ...('failure' in figures ? { usage: figures, near: figures } : figures),
      failed: 'failure' in requestList ? requestList : requestList.body.data,
    };
    return { status: 200, body };
  }) satisfies Operation<'overview'>;

  return { overview };
};
