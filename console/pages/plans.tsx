import type { Plan } from '../api/types.ts';
import { Empty, Page } from '../parts/blocks.tsx';
import { deletion } from '../parts/confirm-dialog.tsx';
import { useShared } from '../parts/context.ts';
import { FormDialog, useForm } from '../parts/dialog.tsx';
import { IdField } from '../parts/field.tsx';
import { count } from '../parts/format.ts';
import { type Action, type DialogProps, useActions } from '../parts/row-actions.tsx';
import { AllowedNames, type Column, figures, Maximum, named, Table } from '../parts/table.tsx';
import { LimitFields, limitsIn, NO_LIMITS, textsOf } from './limit-fields.tsx';
import { PlanFields, planBody, planTexts, storedAs } from './plan-fields.tsx';

const NEW = { ...NO_LIMITS, rpm: '60', quota: '10000' };

const PlanDialog = ({ row: plan, ...dialog }: DialogProps & { row?: Plan }) => {
  const { session } = useShared();
  const { values, bind } = useForm({ id: '', ...(plan ? textsOf(plan) : NEW), ...planTexts(plan) });
  const save = async () => {
    const { id } = values;
    const body = { ...limitsIn(values, plan ? null : undefined), ...planBody(values, plan) };
    if (plan) await session.api('plans.set', { plan: plan.id }, body);
    else await session.api('plans.create', {}, { id, ...body });
    return plan ? 'Saved. The new limits hold within 15 seconds.' : `Created plan ${id}.`;
  };
  return (
    <FormDialog
      title={plan ? `Edit plan “${plan.id}”` : 'Create plan'}
      action={plan ? 'Save' : 'Create plan'}
      onSubmit={save}
      {...dialog}
    >
      {plan && <p>What keys have used is kept. The new limits hold within 15 seconds.</p>}
      {!plan && <IdField {...bind('id')} />}
      <LimitFields
        bind={bind}
        defaults={{}}
        modelsHint="None ticked: all models, also later ones."
      />
      <PlanFields bind={bind} />
      <p class="hint">
        An event is sent when a key reaches 50, 80 and 100 % of its quota; the overview lists these
        keys.
      </p>
    </FormDialog>
  );
};

const COLUMNS: Column<Plan>[] = [
  named('Plan', ({ id }) => id),
  figures('Requests a minute', ({ rpm }) => rpm, {
    cell: ({ rpm, unreadable }) => (unreadable ? 'unreadable' : count(rpm)),
  }),
  figures('Quota', ({ quota }) => quota, {
    cell: ({ quota, period, unreadable }) => (unreadable ? '' : `${count(quota)} a ${period}`),
  }),
  figures('Concurrent requests', ({ concurrency }) => concurrency, {
    cell: ({ concurrency }) => <Maximum value={concurrency} />,
  }),
  { title: 'Responses are stored', sort: storedAs },
  { title: 'Models', cell: ({ models }) => <AllowedNames names={models} /> },
];

const ACTIONS: Action<Plan>[] = [
  { label: 'Edit', dialog: PlanDialog },
  deletion({
    kind: 'plan',
    about: 'A plan with a usable key is not deleted: move or revoke its keys before.',
    call: (api, { id }) => api('plans.delete', { plan: id }),
  }),
];

export const PlansPage = () => {
  const { plans, reloadShared } = useShared();
  const { create, columnsWith, dialog } = useActions({
    create: { label: 'Create plan', dialog: PlanDialog },
    nameOf: ({ id }) => id,
    actions: ACTIONS,
    onChanged: reloadShared,
  });
  return (
    <Page title="Plans" subtitle="A plan sets how much each of its keys may do." actions={create}>
      <Table
        caption="Plans"
        columns={columnsWith(COLUMNS)}
        rows={plans}
        keyOf={({ id }) => id}
        empty={
          <Empty icon="plans" title="No plans yet">
            <p>A plan sets how much a key may do: requests a minute, a quota, and which models.</p>
            {create}
          </Empty>
        }
      />
      {dialog}
    </Page>
  );
};
