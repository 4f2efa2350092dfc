import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { FormDialog } from './dialog.tsx';
import { TextField } from './field.tsx';

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
      {() => (
        <>
          {children}
          <TextField label={`Type ${name} to confirm`} value={typed} onChange={setTyped} />
        </>
      )}
    </FormDialog>
  );
};
