import { ageOf, GROUPINGS, type Grouping, type ReadsSums } from '../history/read-usage.ts';
import { isWhoGrouping, readGroups, WHO_GROUPINGS, type WhoGrouping } from '../history/read-who.ts';
import { budgetUsage, type ReadBudgets } from '../metering/budget-usage.ts';
import type { Meter } from '../metering/meter.ts';
import type { WindowUsage } from '../metering/quota-usage.ts';
import type { HistoryStore } from '../stores/history-store.ts';
import { DAY_MS, dayOf, formatInstant } from '../support/clock.ts';
import { invalidRequest, retryLater } from '../support/errors.ts';
import { omitUndefined } from '../support/objects.ts';
import { readInstant } from '../support/read-instant.ts';

import type { Call, Endpoint } from './endpoint.ts';

const publicUse = ({ limit, used, remaining, resetAt }: WindowUsage) => ({
  limit,
  used,
  remaining,
  resets_at: formatInstant(resetAt),
});

type Query = Call['query'];

/** Longer than a year, so that a month can be compared with the year before. */
const MAX_DAYS = 400;

/** @throws ApiError 400 for what is neither a day nor an RFC 3339 time */
const instantIn = (query: Query, name: 'since' | 'until'): number | undefined => {
  const text = query[name];
  if (text === undefined) return undefined;
  const instant = readInstant(text);
  if (!Number.isNaN(instant)) return instant;
  throw invalidRequest(`${name}: must be a day or time such as 2026-10-01.`, { param: name });
};

/** @throws ApiError 400 */
const groupingIn = ({ by = 'day' }: Query): Grouping | WhoGrouping => {
  if (isWhoGrouping(by)) return by;
  const grouping = GROUPINGS.find((one) => one === by);
  if (grouping && grouping !== 'project') return grouping;
  throw invalidRequest(`by: must be day, model, key, ${WHO_GROUPINGS}.`, { param: 'by' });
};

/** The days of a query, to today if it states no end; undefined if it asks for none. @throws ApiError 400 */
const daysIn = ({ query, startedAt }: Call): { from: string; to: string } | undefined => {
  const since = instantIn(query, 'since');
  const until = instantIn(query, 'until');
  if (since === undefined) {
    if ((until ?? query.by) === undefined) return undefined;
    throw invalidRequest('since: missing.', { param: 'since' });
  }
  const end = until ?? startedAt + 1;
  if (end > since && end - since <= MAX_DAYS * DAY_MS)
    return { from: dayOf(since), to: dayOf(end - 1) };
  throw invalidRequest(`since: must be before until, by at most ${MAX_DAYS} days.`, {
    param: 'since',
  });
};

type History = ReadsSums & Pick<HistoryStore, 'readSpent'>;

/** The history of a project; undefined if the query asks for none. @throws ApiError 400 or 503 */
const historyOf = async (history: History, call: Call) => {
  const { caller, query, startedAt } = call;
  const { projectId } = caller;
  const days = daysIn(call);
  if (!days) return undefined;
  const by = groupingIn(query);
  try {
    const progress = await history.readProgress(projectId);
    const read = await readGroups(history, [{ projectId, ...days }], { by: [by] });
    const {
      data: [data = []],
      total,
    } = read;
    return { ...days, ...ageOf([progress], startedAt), data, total };
  } catch (cause) {
    throw retryLater('The history is unavailable.', cause);
  }
};

/**
 * GET /v1/usage: what the key's plan and its budgets allow and what is left of them, free of quota; with `since` also the
 * history of its project.
 */
export const createGetUsage =
  ({
    meter,
    history,
    budgets,
  }: {
    meter: Meter;
    history: History;
    budgets: ReadBudgets;
  }): Endpoint =>
  async (call) => {
    const { caller } = call;
    await meter.admitFree(caller);
    const { minute, period, lastUsedAt } = await meter.usage(caller);
    const { id, rpm, quota, period: length, concurrency } = caller.plan;
    const dollars = await budgetUsage(budgets, caller, call.startedAt);
    const past = await historyOf(history, call);
    return {
      status: 200,
      body: {
        object: 'usage',
        key_id: caller.keyId,
        project_id: caller.projectId,
        plan: { id, rpm, quota, period: length, ...omitUndefined({ concurrency }) },
        minute: publicUse(minute),
        period: { ...publicUse(period), reserved: period.reserved },
        last_used_at: lastUsedAt === undefined ? null : formatInstant(lastUsedAt),
        ...(dollars && { budgets: dollars }),
        ...(past && { history: past }),
      },
    };
  };
