import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Usage, UsageRow, UsageSums } from '../api/types.ts';
import { Bars } from '../parts/bars.tsx';
import { useShared } from '../parts/context.ts';
import { csvOf, saveFile } from '../parts/csv.ts';
import { Choices } from '../parts/field.tsx';
import { costText, count, dollars, percent, plural, shortCount, utcDay } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { Page } from '../parts/page.tsx';
import { hrefOf } from '../parts/route.ts';
import { Empty, Shown } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import {
  ageOf,
  barsOf,
  daysIn,
  GROUPS,
  type Group,
  loadUsage,
  MEASURES,
  type Measure,
  RANGES,
  type RangeName,
} from './usage-data.ts';

const MEASURE_OPTIONS = (Object.keys(MEASURES) as Measure[]).map((value) => ({
  value,
  label: MEASURES[value].label,
}));

/** The sums of a range, each with its unit. */
export const Sums = ({ sums }: { sums: UsageSums }) => (
  <dl class="cards">
    <div class="panel card">
      <dt>Charged requests</dt>
      <dd>
        {count(sums.charged)}
        <small>{plural(sums.refunded, 'refund')}</small>
      </dd>
    </div>
    <div class="panel card">
      <dt>Input tokens</dt>
      <dd>
        {shortCount(sums.input_tokens)}
        <small>{percent(sums.cache_read_tokens, sums.input_tokens)} from a cache</small>
      </dd>
    </div>
    <div class="panel card">
      <dt>Output tokens</dt>
      <dd>
        {shortCount(sums.output_tokens)}
        <small>{shortCount(sums.reasoning_tokens)} for reasoning</small>
      </dd>
    </div>
    <div class="panel card">
      <dt>Upstream cost</dt>
      <dd>
        {costText(sums)}
        <small>at the catalog’s prices</small>
      </dd>
    </div>
  </dl>
);

const Share = ({ part, whole }: { part: number; whole: number }) => (
  <span class="share">
    <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="100" height="6" />
      <rect class="bar" width={whole === 0 ? 0 : (100 * part) / whole} height="6" />
    </svg>
    <span class="number">{percent(part, whole)}</span>
  </span>
);

type NameOf = (row: UsageRow) => ComponentChildren;

/** `By model` is the column `Model`. */
const titleOf = (by: Group): string => {
  const label = GROUPS.find(({ value }) => value === by)?.label ?? '';
  return label.charAt(3).toUpperCase() + label.slice(4);
};

const columnsFor = (by: Group, total: UsageSums, measure: Measure, nameOf: NameOf) => {
  const { of } = MEASURES[measure];
  const columns: Column<UsageRow>[] = [
    { title: titleOf(by), cell: nameOf },
    { title: 'Share', cell: (row) => <Share part={of(row)} whole={of(total)} /> },
    { title: 'Charged', kind: 'number', cell: ({ charged }) => count(charged) },
    { title: 'Refunded', kind: 'number', cell: ({ refunded }) => count(refunded) },
    { title: 'Input tokens', kind: 'number', cell: (row) => shortCount(row.input_tokens) },
    { title: 'Output tokens', kind: 'number', cell: (row) => shortCount(row.output_tokens) },
    {
      title: 'From a cache',
      kind: 'number',
      cell: (row) => percent(row.cache_read_tokens, row.input_tokens),
    },
    { title: 'Cost', kind: 'number', cell: costText },
  ];
  return columns;
};

const BreakDown = ({
  usage,
  measure,
  nameOf,
}: {
  usage: Usage;
  measure: Measure;
  nameOf: NameOf;
}) => {
  const { by, total } = usage;
  const { of } = MEASURES[measure];
  const rows =
    by === 'day'
      ? usage.data.toReversed()
      : usage.data.toSorted((one, other) => of(other) - of(one));
  return (
    <div class="panel scroll">
      <Table
        caption={`Usage ${GROUPS.find(({ value }) => value === by)?.label.toLowerCase()}`}
        columns={columnsFor(by, total, measure, nameOf)}
        rows={rows}
        keyOf={(row) => row[by] ?? ''}
        total={{ ...total, [by]: 'All' }}
      />
    </div>
  );
};

type KindRow = { kind: string; quantity: number; cost_usd: number };

const KINDS: Column<KindRow>[] = [
  { title: 'Kind', cell: ({ kind }) => kind.replaceAll('_', ' ') },
  { title: 'Quantity', kind: 'number', cell: ({ quantity }) => count(quantity) },
  { title: 'Cost', kind: 'number', cell: ({ cost_usd }) => dollars(cost_usd) },
];

/** What the cost is made of; what a provider stated itself has no kinds. */
const CostByKind = ({ sums }: { sums: UsageSums }) => {
  const rows = Object.entries(sums.cost_by_kind).map(([kind, of]) => ({ kind, ...of }));
  if (rows.length === 0) return null;
  const sorted = rows.toSorted((one, other) => other.cost_usd - one.cost_usd);
  return (
    <section class="section" aria-label="Cost by kind">
      <div class="panel scroll">
        <Table caption="Cost by kind" columns={KINDS} rows={sorted} keyOf={({ kind }) => kind} />
      </div>
      {costText(sums) !== dollars(sums.cost_usd) && (
        <p class="quiet">
          ~ a part is estimated; ≥ {plural(sums.incomplete_requests, 'request')} used something
          without a price.
        </p>
      )}
    </section>
  );
};

/** Those that no row names have no requests to show. */
const isNamed = (name: string): boolean => !/^\((?:none|other)\)$/.test(name);

const WHO: readonly Group[] = ['user', 'session', 'agent', 'client'];

/** Requests, tokens and cost of a range: by day as bars, and by one of their names as a table. */
export const UsagePage = () => {
  const { session, project } = useShared();
  const [range, setRange] = useState<RangeName>('30');
  const [measure, setMeasure] = useState<Measure>('requests');
  const [group, setGroup] = useState<Group>('model');
  const query = { project, days: daysIn(range) };
  const days = useLoad(`${project} ${range}`, () => loadUsage(session.api, 'day', query));
  const groups = useLoad(`${project} ${range} ${group}`, () =>
    loadUsage(session.api, group, query),
  );
  const nameOf: NameOf = (row) => {
    const name = row[group] ?? '';
    if (name === 'All') return name;
    if (group === 'day') return utcDay(name);
    if (WHO.includes(group) && isNamed(name)) {
      return (
        <a class="clip" title={name} href={hrefOf('requests', { project, [group]: name })}>
          {name}
        </a>
      );
    }
    return row.name ?? name;
  };
  const { value: usage } = days;
  const subtitle = usage
    ? `${utcDay(usage.from)} to ${utcDay(usage.to)} (UTC) · ${project ? `project ${project}` : 'all projects'} · ${ageOf(usage)}`
    : undefined;
  const exportCsv = (
    <button
      type="button"
      class="button"
      disabled={!groups.value?.data.length}
      onClick={() => saveFile(`usage-by-${group}.csv`, csvOf(groups.value?.data ?? []))}
    >
      Export CSV
    </button>
  );
  return (
    <Page title="Usage" subtitle={subtitle} actions={exportCsv}>
      <div class="toolbar">
        <Choices legend="Range" isLegendHidden value={range} options={RANGES} onChange={setRange} />
        <Choices
          legend="Measure"
          isLegendHidden
          value={measure}
          options={MEASURE_OPTIONS}
          onChange={setMeasure}
        />
      </div>
      <Shown of={days}>
        {(loaded) => (
          <>
            <Sums sums={loaded.total} />
            <div class="panel is-padded">
              <Bars
                bars={barsOf(loaded, query.days, measure)}
                label={MEASURES[measure].label}
                format={MEASURES[measure].format}
              />
            </div>
            <CostByKind sums={loaded.total} />
          </>
        )}
      </Shown>
      <section class="section" aria-label="Breakdown">
        <div class="toolbar">
          <Choices
            legend="Group"
            isLegendHidden
            value={group}
            options={GROUPS}
            onChange={setGroup}
          />
        </div>
        <Shown of={groups}>
          {(loaded) =>
            loaded.data.length === 0 ? (
              <Empty icon="usage" title="No requests in this time">
                <p>
                  Usage appears here within an hour of a request; on a local router within seconds.
                </p>
              </Empty>
            ) : (
              <BreakDown usage={loaded} measure={measure} nameOf={nameOf} />
            )
          }
        </Shown>
      </section>
    </Page>
  );
};
