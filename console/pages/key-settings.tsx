import { useState } from 'preact/hooks';
import type { Key } from '../api/types.ts';
import { useShared } from '../parts/context.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { announce } from '../parts/notice.tsx';
import { type KeyProps, nameOf, PlanSummary } from './key-dialogs.tsx';
import { pathOf } from './keys-data.ts';

const LIMITS = [
  { name: 'rpm', label: 'Requests a minute' },
  { name: 'quota', label: 'Quota' },
  { name: 'concurrency', label: 'At a time' },
] as const;
type Limit = (typeof LIMITS)[number]['name'];

const textOf = (value: number | undefined): string => (value === undefined ? '' : String(value));

/** Name of a key, and limits below those of its plan. */
export const EditKey = ({ project, row, onClose, onChanged }: KeyProps) => {
  const { session, plans } = useShared();
  const [name, setName] = useState(row.name ?? '');
  const [limits, setLimits] = useState<Record<Limit, string>>({
    rpm: textOf(row.rpm),
    quota: textOf(row.quota),
    concurrency: textOf(row.concurrency),
  });
  const plan = plans.find(({ id }) => id === row.plan);
  const save = async () => {
    const numbers = Object.entries(limits).map(([limit, text]) => [
      limit,
      text === '' ? null : Number(text),
    ]);
    const body = { name: name.trim() === '' ? null : name, ...Object.fromEntries(numbers) };
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
          <Field label="Name" param="name" failure={failure}>
            {(attributes) => (
              <input
                {...attributes}
                type="text"
                maxLength={100}
                value={name}
                onInput={({ currentTarget }) => setName(currentTarget.value)}
              />
            )}
          </Field>
          <div class="fields">
            {LIMITS.map(({ name: limit, label }) => (
              <Field key={limit} label={label} param={limit} failure={failure}>
                {(attributes) => (
                  <input
                    {...attributes}
                    type="number"
                    min="0"
                    placeholder={plan?.[limit] === undefined ? 'no limit' : String(plan[limit])}
                    value={limits[limit]}
                    onInput={({ currentTarget }) =>
                      setLimits({ ...limits, [limit]: currentTarget.value })
                    }
                  />
                )}
              </Field>
            ))}
          </div>
          <p class="hint">Empty: the limit of plan {row.plan}. A key may have lower limits only.</p>
        </>
      )}
    </FormDialog>
  );
};

/** Another plan for a key; what it has used counts against the new plan. */
export const MoveKey = ({ project, row, onClose, onChanged }: KeyProps) => {
  const { session, plans } = useShared();
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
        <Field
          label="Plan"
          param="plan"
          failure={failure}
          hint={
            <>
              {plan && <PlanSummary plan={plan} />}
              <p>What the key has used counts against it.</p>
            </>
          }
        >
          {(attributes) => (
            <select
              {...attributes}
              value={chosen}
              onChange={({ currentTarget }) => setChosen(currentTarget.value)}
            >
              {plans.map(({ id }) => (
                <option key={id} value={id}>
                  {id === row.plan ? `${id} (as now)` : id}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
    </FormDialog>
  );
};
