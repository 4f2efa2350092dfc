import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useShared } from './context.ts';
import { FormDialog } from './dialog.tsx';
import { TextField } from './field.tsx';
import { announce } from './notice.tsx';

type ConfirmProps = {
  title: string;
  action: string;
  busyAction: string;
  /** The name that has to be typed: what is ended is looked at twice. */
  name: string;
  onClose: () => void;
  /** Throws to keep the dialog open with the reason. */
  onConfirm: () => Promise<void>;
  children: ComponentChildren;
};

/** Confirms a change that cannot be undone. */
export const ConfirmDialog = ({ name, onConfirm, children, ...dialog }: ConfirmProps) => {
  const [typed, setTyped] = useState('');
  return (
    <FormDialog {...dialog} isDangerous isReady={typed.trim() === name} onSubmit={onConfirm}>
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
    onClose();
    reloadShared();
    announce(`Deleted ${kind} ${id}.`);
  };
  return (
    <ConfirmDialog
      title={`Delete ${kind} “${id}”?`}
      action={`Delete ${kind}`}
      busyAction="Deleting…"
      name={id}
      onClose={onClose}
      onConfirm={remove}
    >
      {children}
    </ConfirmDialog>
  );
};
