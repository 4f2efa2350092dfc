import { useState } from 'preact/hooks';
import type { Budget } from '../api/types.ts';
import { useShared } from '../parts/context.ts';
import { dollars, plural } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { Meter } from '../parts/meter.tsx';
import { MainButton, Page } from '../parts/page.tsx';
import { actionsColumn } from '../parts/row-actions.tsx';
import { Sparkline } from '../parts/sparkline.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Instant } from '../parts/time.tsx';
import { nameInAudit } from './audit.tsx';
import {
  ChangeBudget,
  CreateBudget,
  DeleteBudget,
  nameOf,
  PauseBudget,
} from './budget-dialogs.tsx';
import { barsOf, lastDays, loadUsage } from './usage-data.ts';

const DAYS = 14;
/** Budgets whose days are drawn: each takes a read. */
const MOST_DRAWN = 20;

/** What the requests under a budget cost by day; days have no sums of one user or session. */
const Spending = ({ budget: { scope, id, project } }: { budget: Budget }) => {
  const { session } = useShared();
  const days = lastDays(DAYS);
  const query = { project: project ?? id, days };
  const of = {
    organisation: { project: undefined, days },
    project: query,
    key: { ...query, key: id },
  };
  const wanted =
    scope === 'organisation' || scope === 'project' || scope === 'key' ? of[scope] : undefined;
  const loaded = useLoad(`${scope} ${id}`, async () =>
    wanted ? barsOf(await loadUsage(session.api, 'day', wanted), days, 'cost') : [],
  );
  const values = loaded.value?.map(({ value }) => value) ?? [];
  return <Sparkline values={values} label={`Cost of ${DAYS} days`} format={dollars} />;
};

const money = (value: number | undefined) => (value === undefined ? '–' : dollars(value));

const COLUMNS: Column<Budget>[] = [
  {
    title: 'Budget',
    cell: (budget) => (
      <strong class="clip" title={nameOf(budget)}>
        {nameOf(budget)}
      </strong>
    ),
    sort: nameOf,
    total: (rows) => plural(rows.length, 'budget'),
  },
  {
    title: 'Limit',
    kind: 'number',
    cell: ({ max_usd, period, paused }) => (
      <>
        {dollars(max_usd)} {period === 'total' ? 'in total' : `a ${period}`}
        {paused && <span class="pill is-warn">paused</span>}
      </>
    ),
    sort: ({ max_usd }) => max_usd,
  },
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
  {
    title: 'Open leases',
    kind: 'number',
    cell: ({ leased_usd }) => money(leased_usd),
    sort: ({ leased_usd }) => leased_usd,
  },
  {
    title: 'Forecast',
    kind: 'number',
    cell: ({ forecast_usd, max_usd }) => (
      <span class={(forecast_usd ?? 0) > max_usd ? 'wrong' : ''}>{money(forecast_usd)}</span>
    ),
    sort: ({ forecast_usd }) => forecast_usd,
  },
  {
    title: 'Set by',
    kind: 'wide',
    cell: ({ set_by, set_at }) => (
      <>
        <span class="clip" title={set_by}>
          {nameInAudit(set_by)}
        </span>{' '}
        <Instant at={set_at} isRelative />
      </>
    ),
    sort: ({ set_by }) => nameInAudit(set_by),
  },
];

type Kind = 'change' | 'pause' | 'delete';
const DIALOGS = { change: ChangeBudget, pause: PauseBudget, delete: DeleteBudget };

const columnsFor = (drawn: ReadonlySet<Budget>): Column<Budget>[] => [
  ...COLUMNS.slice(0, -1),
  {
    title: `${DAYS} days`,
    kind: 'wide',
    cell: (budget) => drawn.has(budget) && <Spending budget={budget} />,
  },
  ...COLUMNS.slice(-1),
];

const actionsWith = (open: (kind: Kind, budget: Budget) => void) =>
  actionsColumn((budget: Budget) => ({
    name: nameOf(budget),
    main: { label: 'Change', onChoose: () => open('change', budget) },
    more: [
      { label: budget.paused ? 'Resume…' : 'Pause…', onChoose: () => open('pause', budget) },
      { label: 'Delete…', isDangerous: true, onChoose: () => open('delete', budget) },
    ],
  }));

/** Settings, Budgets: how many dollars requests may cost. */
export const BudgetsPage = () => {
  const { session, project } = useShared();
  const [opened, setOpened] = useState<{ kind: Kind; budget: Budget } | 'create'>();
  const loaded = useLoad('', async () => (await session.api('budgets.list', {})).data);
  const dialog = { onClose: () => setOpened(undefined), onChanged: loaded.reload };
  const create = session.isOperator && (
    <MainButton onClick={() => setOpened('create')}>Set budget</MainButton>
  );
  const Opened = opened && opened !== 'create' ? DIALOGS[opened.kind] : undefined;
  return (
    <Page
      title="Budgets"
      subtitle="Dollars that requests may cost; the tightest budget of a request counts."
      actions={create}
    >
      <Shown of={loaded}>
        {(all) => {
          const rows = all.filter(
            ({ scope, project: own, id }) =>
              project === undefined || scope === 'organisation' || (own ?? id) === project,
          );
          if (rows.length === 0) {
            return (
              <Empty icon="budgets" title="No budgets yet">
                <p>Nothing limits what requests may cost in dollars.</p>
                {create}
              </Empty>
            );
          }
          const columns = columnsFor(new Set(rows.slice(0, MOST_DRAWN)));
          const actions = actionsWith((kind, budget) => setOpened({ kind, budget }));
          return (
            <Table
              caption="Budgets"
              columns={session.isOperator ? [...columns, actions] : columns}
              rows={rows}
              keyOf={nameOf}
            />
          );
        }}
      </Shown>
      {opened === 'create' && <CreateBudget {...dialog} />}
      {Opened && opened && opened !== 'create' && <Opened budget={opened.budget} {...dialog} />}
    </Page>
  );
};
