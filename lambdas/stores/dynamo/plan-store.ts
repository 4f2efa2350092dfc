import {
  exactOptional,
  list,
  number,
  object,
  oneOf,
  readIfValid,
  string,
} from '../../support/schema.ts';
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
import { isUnderstood, NEEDS } from './needs.ts';
import { createTable, type Item, type TableOptions } from './table.ts';

/** Of plans and keys. */
export const StoredPolicy = object({
  region: exactOptional(list(string)),
  retention: exactOptional(list(string)),
});

const StoredPlan = object({
  [PARTITION_KEY]: string,
  rpm: number,
  quota: number,
  period: oneOf(['hour', 'day', 'month']),
  concurrency: exactOptional(number),
  models: exactOptional(list(string)),
  replay: exactOptional(oneOf(REPLAY_MODES)),
  state: exactOptional(oneOf(STATE_MODES)),
  require: exactOptional(StoredPolicy),
  loops: exactOptional(oneOf(LOOP_MODES)),
  max_wait_ms: exactOptional(number),
  priority: exactOptional(oneOf(PRIORITIES)),
  weight: exactOptional(number),
  /** Incremented by every write; absent in plans of version 0.1.0. */
  revision: exactOptional(number),
});

/** Releases that know no `require` would send requests anywhere. */
const NEEDED = ['require'];

/** Undefined if a later version wrote what this one does not understand. */
const readStored = (item: Item) =>
  isUnderstood(item, NEEDED) ? readIfValid(StoredPlan, item) : undefined;

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
const placeholders = (names: readonly string[]) => names.map((name) => `#${name}`).join(', ');

const SET =
  'SET #rpm = :rpm, #quota = :quota, #period = :period, #revision = if_not_exists(#revision, :zero) + :one';

/** Sets the optional fields that a plan has, and removes the others. */
const writeOf = (plan: Plan) => {
  const own = (isSet: boolean): string[] => [
    ...OPTIONAL.filter((name) => (plan[name] !== undefined) === isSet),
    ...((plan.require !== undefined) === isSet ? [NEEDS] : []),
  ];
  const removes = own(false);
  const assignments = own(true).map((name) => `, #${name} = :${name}`);
  const removal = removes.length > 0 ? ` REMOVE ${placeholders(removes)}` : '';
  return { update: `${SET}${assignments.join('')}${removal}` };
};

const ABSENT = 'attribute_not_exists(#rpm) OR #rpm < :zero';
const SAME_REVISION = '#rpm >= :zero AND #revision = :revision';
const NO_REVISION = '#rpm >= :zero AND attribute_not_exists(#revision)';

const ASSIGN = { update: 'SET #assignedAt = :now', condition: '#rpm >= :zero' };

/**
 * What remains is the revision, with which a plan of the same id can be created again, and what version 0.1.0 requires of
 * every plan: it lists the plan, and admits no request by it. A function, because the router's bundle leaves out what is not
 * called.
 */
const deletion = () => ({
  update: `SET #rpm = :none, #quota = :none REMOVE ${placeholders(OPTIONAL)}, #needs, #assignedAt`,
  condition: '#rpm >= :zero AND (attribute_not_exists(#assignedAt) OR #assignedAt < :since)',
});

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
  const remove = deletion();

  const put = (plan: Plan, condition?: string, revision?: unknown) => {
    const { id, ...members } = plan;
    const values = Object.entries(members).map(([name, value]) => [`:${name}`, value]);
    const write = writeOf(plan);
    return table.apply(id, condition === undefined ? write : { ...write, condition }, {
      values: {
        ...Object.fromEntries(values),
        ':needs': plan.require && NEEDED,
        ':revision': revision,
        ':zero': 0,
        ':one': 1,
      },
    });
  };

  /** A copy that the table sent twice finds its own write, which counts as applied. */
  const putIf = async (plan: Plan, condition: string, revision?: unknown): Promise<boolean> => {
    const { applied, mayBeDuplicated, item } = await put(plan, condition, revision);
    if (applied || !mayBeDuplicated) return applied;
    const stored = item ?? (await table.read(plan.id));
    return isPlan(stored) && isSamePlan(readPlan({ ...stored, [PARTITION_KEY]: plan.id }), plan);
  };

  return {
    ...createDynamoPlanReader(options),
    createPlan: (plan) => putIf(plan, ABSENT),
    changePlan: async (id, change) => {
      const item = await table.read(id);
      if (!isPlan(item)) return { outcome: 'missing' };
      const before = readPlan(item);
      const { revision } = item;
      const plan = change(before);
      const condition = revision === undefined ? NO_REVISION : SAME_REVISION;
      const isChanged = await putIf(plan, condition, revision);
      return isChanged ? { outcome: 'changed', before, plan } : { outcome: 'conflict' };
    },
    putPlan: async (plan) => {
      await put(plan);
    },
    assignPlan: async (id, now) =>
      (await table.apply(id, ASSIGN, { values: { ':now': now, ':zero': 0 } })).applied,
    deletePlan: async (id, since) => {
      const bindings = { values: { ':since': since, ':zero': 0, ':none': -1 } };
      const { applied, mayBeDuplicated } = await table.apply(id, remove, bindings);
      if (applied) return 'deleted';
      if (isPlan(await table.read(id))) return 'assigned';
      return mayBeDuplicated ? 'deleted' : 'missing';
    },
    listPlans: async () => (await table.scan()).filter(isPlan).map(listed),
  };
};
