import { useState } from 'preact/hooks';
import { FormDialog } from './dialog.tsx';
import { TextField } from './field.tsx';

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

type DeleteProps = Pick<ConfirmProps, 'onClose' | 'onChanged' | 'children'> & {
  kind: string;
  id: string;
  /** What is deleted, in the title. @default its kind and id */
  what?: string;
  onDelete: () => Promise<unknown>;
};

/** Confirms a deletion, and deletes. */
export const DeleteDialog = ({ kind, id, what, onDelete, ...dialog }: DeleteProps) => (
  <ConfirmDialog
    title={`Delete ${what ?? `${kind} “${id}”`}?`}
    action={`Delete ${kind}`}
    busyAction="Deleting…"
    name={id}
    onSubmit={async () => {
      await onDelete();
      return `Deleted ${kind} ${id}.`;
    }}
    {...dialog}
  />
);
