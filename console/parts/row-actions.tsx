import type { ComponentType, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './blocks.tsx';
import { useShared } from './context.ts';
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
    <Button
      look="is-small"
      aria-label={`${main.label.replace('…', '')} ${name}`}
      onClick={main.onChoose}
    >
      {main.label}
    </Button>
    <Menu label={`More actions for ${name}`} items={more} />
  </span>
);

export type DialogProps = { onClose: () => void; onChanged: () => void };
type Create = { label: string; dialog: ComponentType<DialogProps> };
/** What operators do with a row, in a dialog or on another page. */
export type Action<Row> = {
  label: string | ((row: Row) => string);
  isDangerous?: true;
  dialog?: ComponentType<DialogProps & { row: Row }>;
  href?: (row: Row) => string;
};

type ActionsOptions<Row> = {
  create: Create;
  nameOf: (row: Row) => string;
  /** The first is the most frequent one. */
  actions: readonly Action<Row>[];
  onChanged: () => void;
};

/** What operators do with the rows of a page: the button that creates one, the last column, and the dialog that is open. */
export const useActions = <Row,>({ create, nameOf, actions, onChanged }: ActionsOptions<Row>) => {
  const { isOperator } = useShared().session;
  const [dialog, open] = useState<VNode>();
  const props = { onChanged, onClose: () => open(undefined) };
  const itemsOf = (row: Row): MenuItem[] =>
    actions.map(({ label, isDangerous = false, dialog: Dialog, href }) => ({
      label: typeof label === 'string' ? label : label(row),
      isDangerous,
      onChoose: () => {
        if (href) location.hash = href(row);
        else if (Dialog) open(<Dialog row={row} {...props} />);
      },
    }));
  const column: Column<Row> = {
    title: 'Actions',
    kind: 'actions',
    cell: (row) => {
      const [main, ...more] = itemsOf(row);
      return main && <RowActions name={nameOf(row)} main={main} more={more} />;
    },
  };
  return {
    dialog,
    create: isOperator && (
      <Button look="is-primary" onClick={() => open(<create.dialog {...props} />)}>
        {create.label}
      </Button>
    ),
    columnsWith: (columns: Column<Row>[]) => (isOperator ? [...columns, column] : columns),
  };
};
