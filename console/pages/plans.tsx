import { useState } from 'preact/hooks';
import type { Plan } from '../api/types.ts';
import { useShared } from '../parts/context.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { count } from '../parts/format.ts';
import { announce } from '../parts/notice.tsx';
import { Page } from '../parts/page.tsx';
import { Empty } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';

type Fields = {
  id: string;
  rpm: string;
  quota: string;
  period: string;
  concurrency: string;
  models: string;
};

const EMPTY: Fields = {
  id: '',
  rpm: '60',
  quota: '10000',
  period: 'month',
  concurrency: '',
  models: '',
};

const fieldsOf = ({ id, rpm, quota, period, concurrency, models }: Plan): Fields => ({
  id,
  rpm: String(rpm),
  quota: String(quota),
  period,
  concurrency: String(concurrency ?? ''),
  models: models?.join('\n') ?? '',
});

const listIn = (text: string): string[] => text.split(/[\s,]+/).filter((item) => item !== '');

/** The body of a change: what is left empty is removed, which a new plan cannot have. */
const bodyOf = ({ id, rpm, quota, period, concurrency, models }: Fields, isNew: boolean) => {
  const none = isNew ? undefined : null;
  return {
    ...(isNew && { id }),
    rpm: Number(rpm),
    quota: Number(quota),
    period,
    concurrency: concurrency === '' ? none : Number(concurrency),
    models: listIn(models).length === 0 ? none : listIn(models),
  };
};

const NUMBERS = [
  { name: 'rpm', label: 'Requests a minute' },
  { name: 'quota', label: 'Quota' },
  { name: 'concurrency', label: 'At a time' },
] as const;

const PlanDialog = ({ plan, onClose }: { plan: Plan | undefined; onClose: () => void }) => {
  const { session, reloadShared } = useShared();
  const [fields, setFields] = useState(plan ? fieldsOf(plan) : EMPTY);
  const set = (name: keyof Fields) => (event: { currentTarget: { value: string } }) =>
    setFields({ ...fields, [name]: event.currentTarget.value });
  const save = async () => {
    const path = plan ? `plans/${encodeURIComponent(plan.id)}` : 'plans';
    await session.api.post(path, bodyOf(fields, !plan));
    onClose();
    reloadShared();
    announce(plan ? 'Saved. The new limits hold within 15 seconds.' : `Created plan ${fields.id}.`);
  };
  return (
    <FormDialog
      title={plan ? `Edit plan “${plan.id}”` : 'Create plan'}
      action={plan ? 'Save' : 'Create plan'}
      busyAction="Saving…"
      onClose={onClose}
      onSubmit={save}
    >
      {(failure) => (
        <>
          {plan && <p>What keys have used is kept. The new limits hold within 15 seconds.</p>}
          {!plan && (
            <Field label="Id" param="id" failure={failure} hint="Letters, digits, dots, dashes.">
              {(attributes) => (
                <input {...attributes} type="text" value={fields.id} onInput={set('id')} />
              )}
            </Field>
          )}
          <div class="fields">
            {NUMBERS.map(({ name, label }) => (
              <Field
                key={name}
                label={label}
                param={name}
                failure={failure}
                hint={name === 'concurrency' ? 'Empty: no limit.' : undefined}
              >
                {(attributes) => (
                  <input
                    {...attributes}
                    type="number"
                    min="0"
                    value={fields[name]}
                    onInput={set(name)}
                  />
                )}
              </Field>
            ))}
            <Field label="Period of the quota" param="period" failure={failure}>
              {(attributes) => (
                <select {...attributes} value={fields.period} onChange={set('period')}>
                  <option value="hour">hour</option>
                  <option value="day">day</option>
                  <option value="month">month</option>
                </select>
              )}
            </Field>
          </div>
          <Field
            label="Models"
            param="models"
            failure={failure}
            hint="One id a line. Empty: all models, also later ones."
          >
            {(attributes) => (
              <textarea {...attributes} value={fields.models} onInput={set('models')} />
            )}
          </Field>
        </>
      )}
    </FormDialog>
  );
};

const columnsWith = (onEdit: ((plan: Plan) => void) | undefined): Column<Plan>[] => [
  { title: 'Plan', cell: ({ id }) => <strong class="clip">{id}</strong> },
  { title: 'A minute', kind: 'number', cell: ({ rpm }) => count(rpm) },
  {
    title: 'Quota',
    kind: 'number',
    cell: ({ quota, period }) => `${count(quota)} a ${period}`,
  },
  {
    title: 'At a time',
    kind: 'number',
    cell: ({ concurrency }) =>
      concurrency === undefined ? <span class="quiet">no limit</span> : count(concurrency),
  },
  {
    title: 'Models',
    cell: ({ models }) =>
      models ? (
        <span class="clip" title={models.join(', ')}>
          {models.join(', ')}
        </span>
      ) : (
        <span class="quiet">all</span>
      ),
  },
  {
    title: 'Actions',
    kind: 'actions',
    cell: (plan) =>
      onEdit && (
        <span class="row-actions">
          <button
            type="button"
            class="button is-small"
            aria-label={`Edit ${plan.id}`}
            onClick={() => onEdit(plan)}
          >
            Edit
          </button>
        </span>
      ),
  },
];

/** Settings, Plans: how much a key may do. */
export const PlansPage = () => {
  const { session, plans } = useShared();
  const [opened, setOpened] = useState<{ plan: Plan | undefined }>();
  const create = (
    <button
      type="button"
      class="button is-primary"
      disabled={!session.isOperator}
      onClick={() => setOpened({ plan: undefined })}
    >
      Create plan
    </button>
  );
  return (
    <Page title="Plans" subtitle="A plan sets how much each of its keys may do." actions={create}>
      {plans.length === 0 ? (
        <Empty icon="plans" title="No plans yet">
          <p>A plan sets how much a key may do: requests a minute, a quota, and which models.</p>
          {create}
        </Empty>
      ) : (
        <div class="panel scroll">
          <Table
            caption="Plans"
            columns={columnsWith(session.isOperator ? (plan) => setOpened({ plan }) : undefined)}
            rows={plans}
            keyOf={({ id }) => id}
          />
        </div>
      )}
      {opened && <PlanDialog plan={opened.plan} onClose={() => setOpened(undefined)} />}
    </Page>
  );
};
