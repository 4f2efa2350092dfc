import { useShared } from '../parts/context.ts';
import { FormDialog, useForm } from '../parts/dialog.tsx';
import { SelectField, TextField } from '../parts/field.tsx';
import { type KeyProps, MODELS_HINT, PlanSummary, usePlansOf } from './key-dialogs.tsx';
import { nameOf } from './keys-data.ts';
import { LimitFields, limitsIn, textsOf } from './limit-fields.tsx';

/** Name of a key, and limits below those of its plan. */
export const EditKey = ({ project, row, onClose, onChanged }: KeyProps) => {
  const { session, plans } = useShared();
  const { values, bind } = useForm({ name: row.name ?? '', ...textsOf(row) });
  const save = async () => {
    const { name, ...limits } = values;
    const body = { name: name.trim() === '' ? null : name, ...limitsIn(limits, null) };
    const changed = await session.api('keys.set', { project, key: row.id }, body);
    onChanged({ ...changed, counts: row.counts });
    return 'Saved. The limits hold within 15 seconds.';
  };
  return (
    <FormDialog title={`Edit “${nameOf(row)}”`} onClose={onClose} onSubmit={save}>
      <TextField label="Name" maxLength={100} {...bind('name')} />
      <LimitFields
        bind={bind}
        defaults={plans.find(({ id }) => id === row.plan) ?? {}}
        modelsHint={MODELS_HINT}
      />
      <p class="hint">Empty: the limit of plan {row.plan}. A key may have lower limits only.</p>
    </FormDialog>
  );
};

/** Another plan for a key; what it has used counts against the new plan. */
export const MoveKey = ({ project, row, onClose, onChanged }: KeyProps) => {
  const { session } = useShared();
  const plans = usePlansOf(project);
  const { values, bind } = useForm({ plan: row.plan });
  const plan = plans.find(({ id }) => id === values.plan);
  const move = async () => {
    const moved = await session.api('keys.move', { project, key: row.id }, values);
    onChanged(moved);
    return `“${nameOf(row)}” is on plan ${values.plan} within 15 seconds.`;
  };
  return (
    <FormDialog
      title={`Move “${nameOf(row)}” to another plan`}
      action="Move"
      busyAction="Moving…"
      isReady={values.plan !== row.plan}
      onClose={onClose}
      onSubmit={move}
    >
      <SelectField
        label="Plan"
        hint={
          <>
            {plan && <PlanSummary plan={plan} />}
            <p>What the key has used counts against it.</p>
          </>
        }
        options={plans.map(({ id }) => ({
          value: id,
          label: id === row.plan ? `${id} (as now)` : id,
        }))}
        {...bind('plan')}
      />
    </FormDialog>
  );
};
