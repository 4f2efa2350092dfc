import type { Budget } from '../api/types.ts';
import { Clip, Empty, Instant, Page, Shown } from '../parts/blocks.tsx';
import { useShared } from '../parts/context.ts';
import { dollars } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { Meter } from '../parts/meter.tsx';
import { type Action, useActions } from '../parts/row-actions.tsx';
import { type Column, figures, named, Table } from '../parts/table.tsx';
import { nameInAudit, Who } from './audit.tsx';
import {
  ChangeBudget,
  CreateBudget,
  DELETE_BUDGET,
  nameOf,
  PauseBudget,
} from './budget-dialogs.tsx';
import { barsOf, lastDays, loadUsage, type UsageQuery } from './usage-data.ts';

type SparklineProps = {
  values: readonly number[];
  /** What the values are, for readers who do not see the drawing. */
  label: string;
  format: (value: number) => string;
};

const HEIGHT = 20;
const STEP = 6;

/** Values one after another, from zero to the highest. */
const Sparkline = ({ values, label, format }: SparklineProps) => {
  const highest = Math.max(0, ...values);
  if (highest === 0) return null;
  const points = values.map((value, index) => `${index * STEP},${HEIGHT * (1 - value / highest)}`);
  return (
    <svg
      class="spark"
      viewBox={`0 -1 ${(values.length - 1) * STEP} ${HEIGHT + 2}`}
      role="img"
      aria-label={`${label}; the highest is ${format(highest)}, the last ${format(values.at(-1) ?? 0)}`}
    >
      <polyline points={points.join(' ')} />
    </svg>
  );
};

const DAYS = 14;
/** Budgets whose days are drawn: each takes a read. */
const MOST_DRAWN = 20;

/** What the requests under a budget cost by day; days have no sums of one user or session. */
const Spending = ({ budget: { scope, id, project = id } }: { budget: Budget }) => {
  const { session } = useShared();
  const days = lastDays(DAYS);
  const of: Partial<Record<Budget['scope'], UsageQuery>> = {
    organisation: { project: undefined, days },
    project: { project, days },
    key: { project, key: id, days },
  };
  const { [scope]: wanted } = of;
  const loaded = useLoad(`${scope} ${id}`, async () =>
    wanted ? barsOf(await loadUsage(session.api, 'day', wanted), days, 'cost') : [],
  );
  const values = loaded.value?.map(({ value }) => value) ?? [];
  return <Sparkline values={values} label={`Cost of ${DAYS} days`} format={dollars} />;
};

const COLUMNS: Column<Budget>[] = [
  named('Budget', nameOf, {
    cell: (budget) => <Clip look="strong" text={nameOf(budget)} />,
  }),
  figures('Limit', ({ max_usd }) => max_usd, {
    cell: ({ max_usd, period, paused }) => (
      <>
        {dollars(max_usd)} {period === 'total' ? 'in total' : `a ${period}`}
        {paused && <span class="pill is-warn">paused</span>}
      </>
    ),
  }),
  {
    title: 'Spent',
    cell: ({ spent_usd, max_usd }) =>
      spent_usd === undefined ? (
        'by each'
      ) : (
        <Meter used={spent_usd} limit={max_usd} format={dollars} />
      ),
    sort: ({ spent_usd, max_usd }) => (spent_usd === undefined ? undefined : spent_usd / max_usd),
  },
  figures('Open leases', ({ leased_usd }) => leased_usd, { format: dollars }),
  figures('Forecast', ({ forecast_usd }) => forecast_usd, {
    cell: ({ forecast_usd: forecast, max_usd }) =>
      forecast === undefined ? (
        '–'
      ) : (
        <span class={forecast > max_usd ? 'wrong' : ''}>{dollars(forecast)}</span>
      ),
  }),
  {
    title: 'Set by',
    kind: 'wide',
    cell: ({ set_by, set_at }) => (
      <>
        <Who name={set_by} /> <Instant at={set_at} isRelative />
      </>
    ),
    sort: ({ set_by }) => nameInAudit(set_by),
  },
];

const columnsFor = (drawn: ReadonlySet<Budget>): Column<Budget>[] => [
  ...COLUMNS.slice(0, -1),
  {
    title: `${DAYS} days`,
    kind: 'wide',
    cell: (budget) => drawn.has(budget) && <Spending budget={budget} />,
  },
  ...COLUMNS.slice(-1),
];

const ACTIONS: Action<Budget>[] = [
  { label: 'Change', dialog: ChangeBudget },
  { label: ({ paused }) => (paused ? 'Resume…' : 'Pause…'), dialog: PauseBudget },
  DELETE_BUDGET,
];

export const BudgetsPage = () => {
  const { session, project } = useShared();
  const loaded = useLoad('', async () => (await session.api('budgets.list', {})).data);
  const { create, columnsWith, dialog } = useActions({
    create: { label: 'Set budget', dialog: CreateBudget },
    nameOf,
    actions: ACTIONS,
    onChanged: loaded.reload,
  });
  const isShown = ({ scope, project: own, id }: Budget) =>
    project === undefined || scope === 'organisation' || (own ?? id) === project;
  return (
    <Page
      title="Budgets"
      subtitle="Dollars that requests may cost; the tightest budget of a request counts."
      actions={create}
    >
      <Shown of={loaded}>
        {(all) => {
          const rows = all.filter(isShown);
          return (
            <Table
              caption="Budgets"
              columns={columnsWith(columnsFor(new Set(rows.slice(0, MOST_DRAWN))))}
              rows={rows}
              keyOf={nameOf}
              empty={
                <Empty icon="budgets" title="No budgets yet">
                  <p>Nothing limits what requests may cost in dollars.</p>
                  {create}
                </Empty>
              }
            />
          );
        }}
      </Shown>
      {dialog}
    </Page>
  );
};
