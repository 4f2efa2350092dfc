import type { ComponentChildren } from 'preact';
import { count } from './format.ts';

export type Column<Row> = {
  title: string;
  cell: (row: Row) => ComponentChildren;
  /** `number` aligns to the right; `wide` is left out below 1360 px; `actions` has a hidden title. */
  kind?: 'number' | 'wide' | 'actions';
};

type TableProps<Row> = {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  classOf?: (row: Row) => string;
  /** A last row with the sum. */
  total?: Row | undefined;
};

/** A table that becomes one card per row below 960 px; roles are spelled out, since CSS changes the display. */
export const Table = <Row,>({ caption, columns, rows, keyOf, classOf, total }: TableProps<Row>) => {
  const cells = (row: Row) =>
    columns.map(({ title, cell, kind = '' }) => (
      <td key={title} role="cell" class={kind} data-title={kind === 'actions' ? '' : title}>
        {cell(row)}
      </td>
    ));
  return (
    <table role="table">
      <caption class="sr-only">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ title, kind = '' }) => (
            <th key={title} scope="col" role="columnheader" class={kind}>
              <span class={kind === 'actions' ? 'sr-only' : ''}>{title}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row" class={classOf?.(row) ?? ''}>
            {cells(row)}
          </tr>
        ))}
      </tbody>
      {total && (
        <tfoot role="rowgroup">
          <tr role="row">{cells(total)}</tr>
        </tfoot>
      )}
    </table>
  );
};

/** The names that something is limited to. */
export const AllowedNames = ({ names }: { names: readonly string[] | undefined }) =>
  names ? (
    <span class="clip" title={names.join(', ')}>
      {names.join(', ')}
    </span>
  ) : (
    <span class="quiet">all</span>
  );

export const Maximum = ({ value }: { value: number | undefined }) =>
  value === undefined ? <span class="quiet">no limit</span> : <span>{count(value)}</span>;
