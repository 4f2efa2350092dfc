import { Menu, type MenuItem } from './menu.tsx';
import type { Column } from './table.tsx';

type RowActionsProps = {
  /** Names the row to readers who do not see it. */
  name: string;
  main: MenuItem;
  more: readonly MenuItem[];
};

/** What can be done with a row: the most frequent action as a button, the others in a menu. */
export const RowActions = ({ name, main, more }: RowActionsProps) => (
  <span class="row-actions">
    <button
      type="button"
      class="button is-small"
      aria-label={`${main.label.replace('…', '')} ${name}`}
      onClick={main.onChoose}
    >
      {main.label}
    </button>
    <Menu label={`More actions for ${name}`} items={more} />
  </span>
);

/** The column of what can be done with each row. */
export const actionsColumn = <Row,>(of: (row: Row) => RowActionsProps): Column<Row> => ({
  title: 'Actions',
  kind: 'actions',
  cell: (row) => <RowActions {...of(row)} />,
});
