import type { ComponentChildren } from 'preact';
import type { Usage, UsageRow, UsageSums } from '../api/types.ts';
import { USAGE_GROUPS } from '../parts/filters.ts';
import { costText, percent, shortCount } from '../parts/format.ts';
import { type Column, figures, Table } from '../parts/table.tsx';
import { type Group, isCut, MEASURES, type Measure, MOST_ROWS, OTHER } from './usage-data.ts';

const Share = ({ part, whole }: { part: number; whole: number }) => (
  <span class="share">
    <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="100" height="6" />
      <rect class="bar" width={whole === 0 ? 0 : (100 * part) / whole} height="6" />
    </svg>
    <span class="number">{percent(part, whole)}</span>
  </span>
);

export type NameOf = (row: UsageRow) => ComponentChildren;

/** `By model` is the column `Model`. */
const titleOf = (by: Group): string => {
  const label = USAGE_GROUPS.find(({ value }) => value === by)?.label ?? '';
  return label.charAt(3).toUpperCase() + label.slice(4);
};

const columnsFor = (by: Group, total: UsageSums, measure: Measure, nameOf: NameOf) => {
  const { of } = MEASURES[measure];
  const tokens = { format: shortCount };
  const columns: Column<UsageRow>[] = [
    { title: titleOf(by), cell: nameOf, sort: (row) => row[by] ?? '' },
    { title: 'Share', cell: (row) => <Share part={of(row)} whole={of(total)} />, sort: of },
    figures('Charged', ({ charged }) => charged),
    figures('Refunded', ({ refunded }) => refunded),
    figures('Input tokens', (row) => row.input_tokens, tokens),
    figures('Output tokens', (row) => row.output_tokens, tokens),
    figures('From a cache', (row) => row.cache_read_tokens / Math.max(1, row.input_tokens), {
      cell: (row) => percent(row.cache_read_tokens, row.input_tokens),
    }),
    figures('Cost', (row) => row.cost_usd, { cell: costText }),
  ];
  const sums = { ...total, [by]: 'All' };
  return columns.map((column) => ({
    ...column,
    // All others are one row, which stays the last.
    sort: (row: UsageRow) => (row[by] === OTHER ? undefined : column.sort?.(row)),
    total: () => column.cell?.(sums),
  }));
};

export const BreakDown = (parts: { usage: Usage; measure: Measure; nameOf: NameOf }) => {
  const { usage, measure, nameOf } = parts;
  const { by, total } = usage;
  const { of } = MEASURES[measure];
  const valueIn = (row: UsageRow) => (row[by] === OTHER ? -1 : of(row));
  const rows =
    by === 'day'
      ? usage.data.toReversed()
      : usage.data.toSorted((one, other) => valueIn(other) - valueIn(one));
  const table = (
    <Table
      look="scroll"
      caption={`Usage ${USAGE_GROUPS.find(({ value }) => value === by)?.label.toLowerCase()}`}
      columns={columnsFor(by, total, measure, nameOf)}
      rows={rows}
      keyOf={(row) => row[by] ?? ''}
    />
  );
  if (!isCut(usage)) return table;
  return (
    <>
      {table}
      <p class="quiet">
        The {MOST_ROWS} highest rows of the measure, or of the column that sorts them. {OTHER} is
        the sum of all others; Export CSV has each.
      </p>
    </>
  );
};
