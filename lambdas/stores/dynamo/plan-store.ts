import * as s from '../../support/schema.ts';
import { PARTITION_KEY, STATE_MODES } from '../../tables.ts';
import {
  isSamePlan,
  LOOP_MODES,
  type Plan,
  type PlanStore,
  PRIORITIES,
  REPLAY_MODES,
  type UnreadablePlan,
} from '../plan-store.ts';
import type { RouterStores } from '../router-stores.ts';
import { UnreadableItem } from '../store-unavailable.ts';
import { asSeen, type Condition, replacing, type Write } from './item-write.ts';
import { isUnderstood, NEEDS } from './needs.ts';
import { createTable, type Item, type TableOptions } from './table.ts';

/** Of plans and keys. */
export const StoredPolicy = s.object({
  region: s.exactOptional(s.list(s.string)),
  retention: s.exactOptional(s.list(s.string)),
});

const StoredPlan = s.object({
  [PARTITION_KEY]: s.string,
  rpm: s.number,
  quota: s.number,
  period: s.oneOf(['hour', 'day', 'month']),
  concurrency: s.exactOptional(s.number),
  models: s.exactOptional(s.list(s.string)),
  replay: s.exactOptional(s.oneOf(REPLAY_MODES)),
  state: s.exactOptional(s.oneOf(STATE_MODES)),
  require: s.exactOptional(StoredPolicy),
  loops: s.exactOptional(s.oneOf(LOOP_MODES)),
  max_wait_ms: s.exactOptional(s.number),
  priority: s.exactOptional(s.oneOf(PRIORITIES)),
  weight: s.exactOptional(s.number),
  /** Incremented by every write; absent in plans of version 0.1.0. */
  revision: s.exactOptional(s.number),
});

/** Releases that know no `require` would send requests anywhere. */
const NEEDED = ['require'];

/** Undefined if a later version wrote what this one does not understand. */
const readStored = (item: Item) =>
  isUnderstood(item, NEEDED) ? s.readIfValid(StoredPlan, item) : undefined;

/** @throws UnreadableItem */
const readPlan = (item: Item): Plan => {
  const stored = readStored(item);
  if (!stored) throw new UnreadableItem('plan');
  const { [PARTITION_KEY]: id, revision: _, ...plan } = stored;
  return { id, ...plan };
};

/** The members that a plan may have. */
const OPTIONAL = [
  ...(['concurrency', 'models', 'replay', 'state', 'require', 'loops'] as const),
  ...(['max_wait_ms', 'priority', 'weight'] as const),
];

/** Sets the optional fields that a plan has, and removes the others. */
const writeOf = (plan: Plan): Write => {
  const { rpm, quota, period } = plan;
  return {
    ...replacing({
      ...{ rpm, quota, period },
      ...Object.fromEntries(OPTIONAL.map((name) => [name, plan[name]])),
      [NEEDS]: plan.require && NEEDED,
    }),
    add: { revision: 1 },
  };
};

const EXISTS: Condition = ['rpm', '>=', 0];

/** Of a deleted plan only its revision remains, or a rate below 0. */
const isPlan = (item: Item | undefined): item is Item =>
  item?.rpm !== undefined && !(Number(item.rpm) < 0);

const listed = (item: Item): Plan | UnreadablePlan =>
  readStored(item) ? readPlan(item) : { id: String(item[PARTITION_KEY]), unreadable: true };

export const createDynamoPlanReader = (options: TableOptions): RouterStores['plans'] => {
  const table = createTable(options);
  return {
    findPlan: async (id) => {
      const item = await table.read(id);
      return isPlan(item) ? readPlan(item) : undefined;
    },
  };
};

/** `PlanStore` on the plans table: one item per plan, by its id. */
export const createDynamoPlanStore = (options: TableOptions): PlanStore => {
  const table = createTable(options);

  /** A copy that the table sent twice finds its own write, which counts as applied. */
  const putIf = async (plan: Plan, conditions: Condition[]): Promise<boolean> => {
    const write = { ...writeOf(plan), conditions };
    const { applied, mayBeDuplicated, item } = await table.apply(plan.id, write);
    if (applied || !mayBeDuplicated) return applied;
    const stored = item ?? (await table.read(plan.id));
    return isPlan(stored) && isSamePlan(readPlan({ ...stored, [PARTITION_KEY]: plan.id }), plan);
  };

  return {
    ...createDynamoPlanReader(options),
    createPlan: (plan) => putIf(plan, [['rpm', '< or absent', 0]]),
    changePlan: async (id, change) => {
      const item = await table.read(id);
      if (!isPlan(item)) return { outcome: 'missing' };
      const before = readPlan(item);
      const { revision } = item;
      const plan = change(before);
      const isChanged = await putIf(plan, [EXISTS, asSeen('revision', revision)]);
      return isChanged ? { outcome: 'changed', before, plan } : { outcome: 'conflict' };
    },
    putPlan: async (plan) => {
      await table.apply(plan.id, writeOf(plan));
    },
    assignPlan: async (id, now) =>
      await table.applies(id, { set: { assignedAt: now }, conditions: [EXISTS] }),
    deletePlan: async (id, since) => {
      // What remains is the revision, with which a plan of the same id can be created again, and what version 0.1.0 requires
      // of every plan: it lists the plan, and admits no request by it.
      const { applied, mayBeDuplicated } = await table.apply(id, {
        set: { rpm: -1, quota: -1 },
        remove: [...OPTIONAL, NEEDS, 'assignedAt'],
        conditions: [EXISTS, ['assignedAt', '< or absent', since]],
      });
      if (applied) return 'deleted';
      if (isPlan(await table.read(id))) return 'assigned';
      return mayBeDuplicated ? 'deleted' : 'missing';
    },
    listPlans: async () => (await table.scan()).filter(isPlan).map(listed),
  };
};
