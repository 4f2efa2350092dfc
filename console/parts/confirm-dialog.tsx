import { useState } from 'preact/hooks';
import type { Api } from '../api/client.ts';
import { useShared } from './context.ts';
import { FormDialog } from './dialog.tsx';
import { TextField } from './field.tsx';
import type { Action } from './row-actions.tsx';

type ConfirmProps = Omit<Parameters<typeof FormDialog>[0], 'isReady' | 'isDangerous'> & {
  /** The name that has to be typed: what is ended is looked at twice. */
  name: string;
};

/** Confirms a change that cannot be undone. */
export const ConfirmDialog = ({ name, children, ...dialog }: ConfirmProps) => {
  const [typed, setTyped] = useState('');
  return (
    <FormDialog {...dialog} isDangerous isReady={typed.trim() === name}>
      {children}
      <TextField label={`Type ${name} to confirm`} value={typed} onChange={setTyped} />
    </FormDialog>
  );
};

type Deletion<Row> = {
  kind: string;
  /** What is deleted, in the title. @default its kind and id */
  whatOf?: (row: Row) => string;
  /** What stays, and what prevents it. */
  about: string;
  call: (api: Api, row: Row) => Promise<unknown>;
};

/** The action that deletes a row once its id is typed. */
export const deletion = <Row extends { id: string }>(of: Deletion<Row>): Action<Row> => ({
  label: 'Delete…',
  isDangerous: true,
  dialog: ({ row, ...dialog }) => {
    const { session } = useShared();
    const { kind, whatOf = ({ id }) => `${kind} “${id}”`, about, call } = of;
    return (
      <ConfirmDialog
        title={`Delete ${whatOf(row)}?`}
        action={`Delete ${kind}`}
        busyAction="Deleting…"
        name={row.id}
        onSubmit={async () => {
          await call(session.api, row);
          return `Deleted ${kind} ${row.id}.`;
        }}
        {...dialog}
      >
        <p>{about}</p>
      </ConfirmDialog>
    );
  },
});
