import { type MetricKind, namesOf, OTHER } from '../history/metric-sums.ts';
import { type ProjectMetrics, readMetrics } from '../history/read-metrics.ts';
import { SUM_NAMES } from '../history/sums.ts';
import type { Plan } from '../stores/plan-store.ts';
import type { Project } from '../stores/project-store.ts';
import {
  formatOpenMetrics,
  type MetricFamily,
  OPEN_METRICS_TYPE,
} from '../support/open-metrics.ts';
import { dollarsOf } from '../support/public-usage.ts';
import type { Operation, OperationParts } from './operation.ts';
import { readAccountLimits } from './provider-limits.ts';
import { limitFamilies, quotaFamilies } from './quota-families.ts';
import { placedTargets, readTargetStates } from './targets.ts';

/** Projects and plans with series of their own; later ones are added up as `other`. */
const MAX_LISTED = 100;

/** Projects keep their place in this order: their counters never become smaller. */
const byAge = (one: Project, other: Project): number =>
  one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1);

type Labels = Record<string, string>;

/** Adds up numbers of equal labels. */
const createPoints = () => {
  const points = new Map<string, [Labels, number[]]>();
  return {
    add: (labels: Labels, numbers: readonly number[]): void => {
      const name = JSON.stringify(labels);
      const [, sums] = points.get(name) ?? [labels, []];
      for (const [at, value] of numbers.entries()) sums[at] = (sums[at] ?? 0) + value;
      points.set(name, [labels, sums]);
    },
    all: () => [...points.values()],
  };
};
type Points = [Labels, number[]][];

const pointsOf = (all: ProjectMetrics[], kind: MetricKind, label: string): Points => {
  const points = createPoints();
  for (const { sums } of all) {
    for (const [name, numbers] of namesOf(sums, kind)) points.add({ [label]: name }, numbers);
  }
  return points.all();
};

const split = (points: Points, label: string, places: Record<string, number>) =>
  points.flatMap(([labels, numbers]) =>
    Object.entries(places).map(
      ([value, at]) => [{ ...labels, [label]: value }, numbers[at] ?? 0] as const,
    ),
  );

const at = (name: (typeof SUM_NAMES)[number]): number => SUM_NAMES.indexOf(name);
const OUTCOMES = { charged: at('charged'), refunded: at('refunded'), refused: at('refused') };
const TOKENS = {
  input: at('inputTokens'),
  output: at('outputTokens'),
  cache_read: at('cacheReadTokens'),
  cache_write: at('cacheWriteTokens'),
  reasoning: at('reasoningTokens'),
};

/** By project and model, and by project. */
const usageFamilies = (all: ProjectMetrics[]): MetricFamily[] => {
  const usage = createPoints();
  const unrecorded = createPoints();
  for (const [index, one] of all.entries()) {
    const project = index < MAX_LISTED ? one.projectId : OTHER;
    for (const [model, sums] of namesOf(one.sums, 'usage')) {
      usage.add({ project, model: model || '(none)' }, sums);
    }
    unrecorded.add({ project }, [one.unrecorded]);
  }
  const points = usage.all();
  return [
    {
      ...{ name: 'model_router_requests', type: 'counter' },
      help: 'Generation requests: charged, refunded, or refused before they took a unit.',
      points: split(points, 'outcome', OUTCOMES),
    },
    {
      ...{ name: 'model_router_tokens', type: 'counter', unit: 'tokens' },
      help: 'Tokens; those of caches are in the input too, reasoning is in the output.',
      points: split(points, 'kind', TOKENS),
    },
    {
      ...{ name: 'model_router_cost_dollars', type: 'counter', unit: 'dollars' },
      help: "Cost of all attempts at the catalog's prices.",
      points: points.map(([labels, sums]) => [labels, dollarsOf(sums[at('costNanos')] ?? 0)]),
    },
    {
      ...{ name: 'model_router_unrecorded_units', type: 'gauge', unit: 'units' },
      help: 'Units of closed periods that the meters charged and no record shows.',
      points: unrecorded.all().map(([labels, [units = 0]]) => [labels, units]),
    },
  ];
};

/** By model, target and kind of error, of all projects together. */
const requestFamilies = (all: ProjectMetrics[]): MetricFamily[] => [
  {
    ...{ name: 'model_router_duration_seconds', type: 'histogram', unit: 'seconds' },
    help: 'Duration of generation requests that took a unit.',
    points: pointsOf(all, 'duration', 'model'),
  },
  {
    ...{ name: 'model_router_first_content_seconds', type: 'histogram', unit: 'seconds' },
    help: 'From the admission of a streamed request to its first content.',
    points: pointsOf(all, 'first', 'model'),
  },
  {
    ...{ name: 'model_router_attempts', type: 'counter' },
    help: 'Calls of targets.',
    points: split(pointsOf(all, 'target', 'target'), 'outcome', { answered: 0, failed: 1 }),
  },
  {
    ...{ name: 'model_router_failures', type: 'counter' },
    help: 'Requests that took a unit and failed, by the kind of the last failure.',
    points: pointsOf(all, 'error', 'error').map(([labels, [count = 0]]) => [labels, count]),
  },
];
const isReadable = (plan: Plan | { unreadable: true }): plan is Plan & { unreadable?: undefined } =>
  !('unreadable' in plan);

const planFamilies = (plans: Plan[]): MetricFamily[] => {
  const labelsOf = ({ id, period }: Plan) => ({ plan: id, period });
  return [
    {
      ...{ name: 'model_router_plan_quota_units', type: 'gauge', unit: 'units' },
      help: 'Units of a key of the plan in a period.',
      points: plans.map((plan) => [labelsOf(plan), plan.quota]),
    },
    {
      ...{ name: 'model_router_plan_requests_per_minute', type: 'gauge' },
      help: 'Requests of a key of the plan in a minute.',
      points: plans.map((plan) => [labelsOf(plan), plan.rpm]),
    },
  ];
};

/**
 * What the history has counted, as counters that never begin again, and the state of targets. A read costs three items
 * a project; no record is read unless what providers stated is asked for.
 */
export const createMetrics = (parts: OperationParts) => {
  const { projects, plans, history, clock } = parts;
  const read = (async ({ query }) => {
    const listed = (await projects.listProjects()).toSorted(byAge);
    const [all, states, planList, quotas, limits] = await Promise.all([
      readMetrics(history, listed, clock.now()),
      readTargetStates(parts),
      plans.listPlans(),
      parts.readQuotas(),
      query.limits ? readAccountLimits(parts, placedTargets(parts.models)) : [],
    ]);
    const counted = all.flatMap(({ countedAt }) => countedAt ?? []);
    const families: MetricFamily[] = [
      ...usageFamilies(all),
      ...requestFamilies(all),
      {
        ...{ name: 'model_router_target_held_off', type: 'gauge' },
        help: '1 while a target is held off after failures, or is tried again.',
        points: [...states].map(([target, { state }]) => [{ target }, state === 'closed' ? 0 : 1]),
      },
      ...planFamilies(planList.filter(isReadable).slice(0, MAX_LISTED)),
      ...quotaFamilies(quotas),
      ...(limits.length > 0 ? limitFamilies(limits) : []),
      {
        ...{ name: 'model_router_counted_timestamp_seconds', type: 'gauge', unit: 'seconds' },
        help: 'Instant until which the records of every project are in the counters.',
        points: counted.length === 0 ? [] : [[{}, Math.min(...counted) / 1_000]],
      },
    ];
    const text = formatOpenMetrics(families);
    return { status: 200, headers: { 'content-type': OPEN_METRICS_TYPE }, text };
  }) satisfies Operation<'metrics'>;
  return { metrics: read };
};
