import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button, Clip } from './blocks.tsx';
import { useShared } from './context.ts';
import { count, plural } from './format.ts';
import { hrefOf, replaceHash } from './route.ts';

type Key = string | number | undefined;

export type Column<Row> = {
  title: string;
  /** @default what the rows are sorted by */
  cell?: (row: Row) => ComponentChildren;
  /** `number` aligns to the right; `wide` is left out below 1360 px; `actions` has a hidden title. */
  kind?: 'number' | 'wide' | 'actions';
  /** What the rows are sorted by on a click on the title: numbers from the highest, texts from A. */
  sort?: (row: Row) => Key;
  /** What the last row has here. */
  total?: (rows: readonly Row[]) => ComponentChildren;
};

type TableProps<Row> = {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  classOf?: (row: Row) => string;
  /** Classes of the panel around it. @default none */
  look?: string;
  /** In place of a table without rows. */
  empty?: ComponentChildren;
};

/** The column that names the rows, which the last row counts. */
export const named = <Row,>(
  title: string,
  of: (row: Row) => string,
  column: Partial<Column<Row>> = {},
): Column<Row> => ({
  title,
  cell: (row) => <strong class="clip">{of(row)}</strong>,
  sort: of,
  total: (rows) => plural(rows.length, title.toLowerCase()),
  ...column,
});

type Figures<Row> = Partial<Column<Row>> & {
  /** @default a whole number */
  format?: (value: number) => string;
  /** The last row has their sum. */
  isSummed?: true;
};

/** A column of numbers, some of which may not be known. */
export const figures = <Row,>(
  title: string,
  of: (row: Row) => number | null | undefined,
  { format = count, isSummed, ...column }: Figures<Row> = {},
): Column<Row> => ({
  ...{ title, kind: 'number', sort: (row) => of(row) ?? undefined },
  cell: (row) => {
    const value = of(row) ?? undefined;
    return value === undefined ? '–' : format(value);
  },
  ...(isSummed && {
    total: (rows) => format(rows.reduce((sum, row) => sum + (of(row) ?? 0), 0)),
  }),
  ...column,
});

/** Rows that are drawn at first: all are sorted and added up. */
const MOST_DRAWN = 200;

/** Values that are not known come last, in either direction. */
const compare = (one: Key, other: Key, direction: number): number => {
  if (one === undefined || other === undefined)
    return Number(one === undefined) - Number(other === undefined);
  if (typeof one === 'number' && typeof other === 'number') return direction * (one - other);
  return direction * String(one).localeCompare(String(other), 'en', { numeric: true });
};

type Order = { title: string; direction: 1 | -1 };
const ARIA = { '1': 'ascending', '-1': 'descending' } as const;

/** The first click sorts numbers from the highest, and texts from A; the second turns it round, the third ends it. */
const nextOrder = (order: Order | undefined, title: string, first: 1 | -1): Order | undefined => {
  if (order?.title !== title) return { title, direction: first };
  return order.direction === first ? { title, direction: first === 1 ? -1 : 1 } : undefined;
};

/** `Cost` from the lowest, `-Cost` from the highest. */
const orderIn = (sort: string | null): Order | undefined => {
  if (!sort) return undefined;
  return sort.startsWith('-')
    ? { title: sort.slice(1), direction: -1 }
    : { title: sort, direction: 1 };
};

/** The order is in the address, so that another reader sees the same. */
const useOrder = <Row,>(columns: readonly Column<Row>[], rows: readonly Row[]) => {
  const { page, id, query } = useShared().route;
  const order = orderIn(query.get('sort'));
  const by = columns.find(({ title }) => title === order?.title)?.sort;
  const sorted =
    by && order
      ? rows.toSorted((one, other) => compare(by(one), by(other), order.direction))
      : rows;
  const sortBy = (title: string, sort: (row: Row) => Key) => {
    const isNumber = rows.some((row) => typeof sort(row) === 'number');
    const next = nextOrder(order, title, isNumber ? -1 : 1);
    const named = next && (next.direction === 1 ? next.title : `-${next.title}`);
    replaceHash(hrefOf(page, { ...Object.fromEntries(query), id, sort: named }));
  };
  return { order, sorted, sortBy };
};

/** A table that becomes one card per row below 960 px; roles are spelled out, since CSS changes the display. */
export const Table = <Row,>(props: TableProps<Row>) => {
  const { caption, columns, rows, keyOf, classOf, look = '', empty } = props;
  const { order, sorted, sortBy } = useOrder(columns, rows);
  const [most, setMost] = useState(MOST_DRAWN);
  const cells = (content: (column: Column<Row>) => ComponentChildren) =>
    columns.map((column) => {
      const { title, kind = '' } = column;
      return (
        <td key={title} role="cell" class={kind} data-title={kind === 'actions' ? '' : title}>
          {content(column)}
        </td>
      );
    });
  if (empty && rows.length === 0) return <>{empty}</>;
  return (
    <div class={`panel ${look}`}>
      <table role="table">
        <caption class="sr-only">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ title, kind = '', sort }) => {
              const direction = order?.title === title ? order.direction : undefined;
              return (
                <th
                  key={title}
                  scope="col"
                  role="columnheader"
                  class={kind}
                  aria-sort={direction && ARIA[direction]}
                >
                  {sort ? (
                    <button type="button" class="sort" onClick={() => sortBy(title, sort)}>
                      {title}
                    </button>
                  ) : (
                    <span class={kind === 'actions' ? 'sr-only' : ''}>{title}</span>
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {sorted.slice(0, most).map((row) => (
            <tr key={keyOf(row)} role="row" class={classOf?.(row) ?? ''}>
              {cells(({ cell, sort }) => (cell ?? sort)?.(row))}
            </tr>
          ))}
        </tbody>
        {rows.length > 0 && columns.some(({ total }) => total) && (
          <tfoot role="rowgroup">
            <tr role="row">{cells(({ total }) => total?.(rows))}</tr>
          </tfoot>
        )}
      </table>
      {rows.length > most && (
        <p class="more">
          <Button onClick={() => setMost(most + MOST_DRAWN)}>
            {count(rows.length - most)} more
          </Button>
        </p>
      )}
    </div>
  );
};

export const AllowedNames = ({ names }: { names: readonly string[] | undefined }) =>
  names ? <Clip text={names.join(', ')} /> : <span class="quiet">all</span>;

export const Maximum = ({ value }: { value: number | undefined }) =>
  value === undefined ? <span class="quiet">no limit</span> : <span>{count(value)}</span>;
