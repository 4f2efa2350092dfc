import type { ComponentChildren, ComponentType, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { asFailure } from '../api/failure.ts';
import { useShared } from '../parts/context.ts';
import { announce } from '../parts/notice.tsx';
import { hrefOf } from '../parts/route.ts';
import { RowActions } from '../parts/row-actions.tsx';
import { CreateKey, type KeyProps, RevokeKey, RotateKey } from './key-dialogs.tsx';
import { EditKey, MoveKey } from './key-settings.tsx';
import { isEnded, type KeyRow, nameOf } from './keys-data.ts';

/** Every environment has the changed key by then. */
const SETTLED_MS = 15_000;

export type KeyActions = {
  create: () => void;
  /** The actions of a key; none for a key that has ended, or without the role. */
  actionsOf: (row: KeyRow) => ComponentChildren;
  /** The dialog that is open. */
  dialog: ComponentChildren;
};

/** What can be done with the keys of a project; `onChanged` gets each key that a change returns. */
export const useKeyActions = (project: string, onChanged: (row: KeyRow) => void): KeyActions => {
  const { session } = useShared();
  const [dialog, open] = useState<VNode>();
  const [, redraw] = useState(0);

  const props = { project, onChanged, onClose: () => open(undefined) };

  const pauseOrResume = async (row: KeyRow) => {
    const isPaused = row.status === 'paused';
    try {
      const name = isPaused ? 'keys.resume' : 'keys.pause';
      const key = await session.api(name, { project, key: row.id });
      const until = Date.now() + SETTLED_MS;
      onChanged({ ...key, pending: { change: isPaused ? 'resuming' : 'pausing', until } });
      // The clock of the day may run slower than the timer.
      setTimeout(() => redraw(until), SETTLED_MS + 500);
      announce(
        isPaused
          ? `“${nameOf(row)}” works again within 15 seconds.`
          : `“${nameOf(row)}” gets 401 within 15 seconds. Revoking ends a key at once.`,
      );
    } catch (error) {
      announce(asFailure(error).message);
    }
  };

  const actionsOf = (row: KeyRow) => {
    if (!session.mayChange(project) || isEnded(row)) return null;
    const opens = (Dialog: ComponentType<KeyProps>) => () => open(<Dialog {...props} row={row} />);
    const move = { label: 'Move to a plan…', onChoose: opens(MoveKey) };
    const edit = { label: 'Edit…', onChoose: opens(EditKey) };
    // Its successor is the key to rotate.
    const isReplaced = row.replaced_by !== undefined;
    return (
      <RowActions
        name={nameOf(row)}
        main={isReplaced ? edit : { label: 'Rotate', onChoose: opens(RotateKey) }}
        more={[
          ...(isReplaced ? [] : [edit]),
          ...(session.isOperator ? [move] : []),
          {
            label: row.status === 'paused' ? 'Resume' : 'Pause',
            onChoose: () => void pauseOrResume(row),
          },
          {
            label: 'Its requests',
            onChoose: () => {
              location.hash = hrefOf('requests', { project, key: row.id });
            },
          },
          { label: 'Revoke…', isDangerous: true, onChoose: opens(RevokeKey) },
        ]}
      />
    );
  };

  return { create: () => open(<CreateKey {...props} />), actionsOf, dialog };
};
