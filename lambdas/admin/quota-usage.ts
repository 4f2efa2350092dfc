import { limitPlan } from '../keys/authenticate.ts';
import { periodOf } from '../metering/limits.ts';
import { createReadSnapshot, createReaper } from '../metering/quota-usage.ts';
import type { KeyRecord } from '../stores/key-store.ts';
import type { UsageSnapshot } from '../stores/meter-store.ts';
import type { Plan, UnreadablePlan } from '../stores/plan-store.ts';
import { UnreadableItem } from '../stores/store-unavailable.ts';
import { formatInstant, minuteOf } from '../support/clock.ts';
import { readKeyPage } from './keys.ts';
import type { AdminParts, Operation } from './operation.ts';
import { requireProject } from './projects.ts';
import { publicKey } from './public-key.ts';

type Parts = Pick<AdminParts, 'keys' | 'plans' | 'projects' | 'meters' | 'clock' | 'log'>;

const countsOf = (
  plan: Plan,
  { minuteCount, periodCount, reservedCount, lastUsedAt }: UsageSnapshot,
  now: number,
) => ({
  quota: plan.quota,
  period: plan.period,
  used: periodCount - reservedCount,
  reserved: reservedCount,
  remaining: Math.max(0, plan.quota - periodCount),
  resets_at: formatInstant(periodOf(plan.period, now).resetsAt),
  rpm: plan.rpm,
  used_this_minute: minuteCount,
  ...(lastUsedAt !== undefined && { last_used_at: formatInstant(lastUsedAt) }),
});

/** A row of `list`; without the counts if the plan does not exist, or a later version wrote it or the meter. */
export type KeyUsage = Pick<ReturnType<typeof publicKey>, 'id' | 'name' | 'status' | 'plan'> & {
  meter: string;
  unreadable?: true;
} & Partial<ReturnType<typeof countsOf>>;

/** Reads the row of a key under a plan; units of dead processes are refunded first. */
const createReadRow = ({ meters, log }: Parts) => {
  const readSnapshot = createReadSnapshot({
    store: meters,
    reaper: createReaper({ store: meters, log }),
  });
  return async (
    record: KeyRecord,
    plan: Plan | UnreadablePlan | undefined,
    now: number,
  ): Promise<KeyUsage> => {
    const { id, name, plan: planId, status } = publicKey(record, now);
    const key = { id, ...(name !== undefined && { name }), status, plan: planId };
    const { meterId, keyId } = record;
    const row = { ...key, meter: meterId };
    if (!plan) return row;
    if ('unreadable' in plan) return { ...row, unreadable: true };
    const period = periodOf(plan.period, now).label;
    try {
      const snapshot = await readSnapshot({ meterId, keyId, minute: minuteOf(now), period, now });
      return { ...row, ...countsOf(limitPlan(plan, record), snapshot, now) };
    } catch (error) {
      if (error instanceof UnreadableItem) return { ...row, unreadable: true };
      throw error;
    }
  };
};

/** Rows of keys; of ids unknown ones are left out. */
export const createReadCounts = (parts: Parts) => {
  const { keys, plans, clock } = parts;
  const readRow = createReadRow(parts);
  return async (project: string, wanted: readonly (KeyRecord | string)[]): Promise<KeyUsage[]> => {
    const [found, allPlans] = await Promise.all([
      Promise.all(
        wanted.map((one) => (typeof one === 'string' ? keys.findKeyById(project, one) : one)),
      ),
      plans.listPlans(),
    ]);
    const byId = new Map(allPlans.map((plan) => [plan.id, plan]));
    const records = found.filter((record) => record !== undefined);
    return Promise.all(
      records.map((record) => readRow(record, byId.get(record.planId), clock.now())),
    );
  };
};

/**
 * `list` returns one row per key, a page at a time: the reads of a response do not grow with the project. A rotated
 * key and its successor share a meter and therefore their counts: rows with the same `meter` must not be added.
 */
export const usageHandlers = (parts: Parts) => {
  const { keys, projects, clock } = parts;
  const readCounts = createReadCounts(parts);
  const list = (async ({ parameters: { project = '' }, query }) => {
    const { keys: ids, ...wanted } = query;
    await requireProject(projects, project);
    const page =
      ids === undefined
        ? await readKeyPage(keys, project, wanted, clock.now())
        : { data: ids, next_cursor: null };
    return { status: 200, body: { ...page, data: await readCounts(project, page.data) } };
  }) satisfies Operation<'quotas.list'>;

  return { 'quotas.list': list };
};
