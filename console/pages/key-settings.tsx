import { useState } from 'preact/hooks';
import type { Key } from '../api/types.ts';
import { useShared } from '../parts/context.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { SelectField, TextField } from '../parts/field.tsx';
import { announce } from '../parts/notice.tsx';
import { type KeyProps, MODELS_HINT, PlanSummary, usePlansOf } from './key-dialogs.tsx';
import { nameOf, pathOf } from './keys-data.ts';
import { LimitFields, limitsIn, textsOf } from './limit-fields.tsx';

/** Name of a key, and limits below those of its plan. */
export const EditKey = ({ project, row, onClose, onChanged }: KeyProps) => {
  const { session, plans } = useShared();
  const [name, setName] = useState(row.name ?? '');
  const [limits, setLimits] = useState(textsOf(row));
  const plan = plans.find(({ id }) => id === row.plan);
  const save = async () => {
    const body = { name: name.trim() === '' ? null : name, ...limitsIn(limits, null) };
    const changed = await session.api.post<Key>(pathOf(project, row.id), body);
    onClose();
    onChanged({ ...changed, counts: row.counts });
    announce('Saved. The limits hold within 15 seconds.');
  };
  return (
    <FormDialog
      title={`Edit “${nameOf(row)}”`}
      action="Save"
      busyAction="Saving…"
      onClose={onClose}
      onSubmit={save}
    >
      {(failure) => (
        <>
          <TextField
            label="Name"
            param="name"
            maxLength={100}
            failure={failure}
            value={name}
            onChange={setName}
          />
          <LimitFields
            texts={limits}
            failure={failure}
            onChange={setLimits}
            defaults={plan ?? {}}
            modelsHint={MODELS_HINT}
          />
          <p class="hint">Empty: the limit of plan {row.plan}. A key may have lower limits only.</p>
        </>
      )}
    </FormDialog>
  );
};

/** Another plan for a key; what it has used counts against the new plan. */
export const MoveKey = ({ project, row, onClose, onChanged }: KeyProps) => {
  const { session } = useShared();
  const plans = usePlansOf(project);
  const [chosen, setChosen] = useState(row.plan);
  const plan = plans.find(({ id }) => id === chosen);
  const move = async () => {
    const moved = await session.api.post<Key>(pathOf(project, row.id, 'move'), { plan: chosen });
    onClose();
    onChanged(moved);
    announce(`“${nameOf(row)}” is on plan ${chosen} within 15 seconds.`);
  };
  return (
    <FormDialog
      title={`Move “${nameOf(row)}” to another plan`}
      action="Move"
      busyAction="Moving…"
      isReady={chosen !== row.plan}
      onClose={onClose}
      onSubmit={move}
    >
      {(failure) => (
        <SelectField
          label="Plan"
          param="plan"
          failure={failure}
          hint={
            <>
              {plan && <PlanSummary plan={plan} />}
              <p>What the key has used counts against it.</p>
            </>
          }
          value={chosen}
          options={plans.map(({ id }) => ({
            value: id,
            label: id === row.plan ? `${id} (as now)` : id,
          }))}
          onChange={setChosen}
        />
      )}
    </FormDialog>
  );
};
