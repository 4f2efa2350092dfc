import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useShared } from './context.ts';
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

type DeleteProps = {
  kind: 'plan' | 'project';
  id: string;
  onClose: () => void;
  children: ComponentChildren;
};

/** Confirms the deletion of a plan or a project, and deletes it. */
export const DeleteDialog = ({ kind, id, onClose, children }: DeleteProps) => {
  const { session, reloadShared } = useShared();
  const remove = async () => {
    if (kind === 'plan') await session.api('plans.delete', { plan: id });
    else await session.api('projects.delete', { project: id });
    return `Deleted ${kind} ${id}.`;
  };
  return (
    <ConfirmDialog
      title={`Delete ${kind} “${id}”?`}
      action={`Delete ${kind}`}
      busyAction="Deleting…"
      name={id}
      onClose={onClose}
      onChanged={reloadShared}
      onSubmit={remove}
    >
      {children}
    </ConfirmDialog>
  );
};
