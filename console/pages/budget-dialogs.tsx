import { useState } from 'preact/hooks';
import type { Api } from '../api/client.ts';
import type { Budget } from '../api/types.ts';
import { deletion } from '../parts/confirm-dialog.tsx';
import { useShared } from '../parts/context.ts';
import { FormDialog, useForm } from '../parts/dialog.tsx';
import { optionsOf, SelectField, TextField } from '../parts/field.tsx';
import type { DialogProps } from '../parts/row-actions.tsx';

type Owner = Pick<Budget, 'scope' | 'project' | 'id'>;

const SCOPES = optionsOf({
  ...{ project: 'a project', key: 'a key', users: 'each user of a project', user: 'one user' },
  ...{ sessions: 'each session of a project', session: 'one session' },
  organisation: 'the organisation',
});
const NAMED: Partial<Record<Budget['scope'], string>> = {
  key: 'Id of the key',
  user: 'User, as requests name it',
  session: 'Session, as requests name it',
};

const PERIODS = optionsOf({ hour: 'an hour', day: 'a day', month: 'a month', total: 'in total' });

/** `key key_1 of shop`, `each user of shop` */
export const nameOf = ({ scope, project, id }: Owner): string => {
  if (scope === 'organisation') return 'the organisation';
  if (scope === 'users' || scope === 'sessions') return `each ${scope.slice(0, -1)} of ${id}`;
  return scope === 'project' ? `project ${id}` : `${scope} ${id} of ${project}`;
};

const call = (api: Api, verb: 'set' | 'delete', owner: Owner, body = {}): Promise<unknown> => {
  const { scope, id, project = id } = owner;
  const parameters = { project, key: id, user: id, session: id };
  if (scope === 'project') return api(`budgets.${verb}`, parameters, body);
  return api(`${scope}-budgets.${verb}`, parameters, body);
};

const useAmount = (budget?: Budget) =>
  useForm({ max_usd: String(budget?.max_usd ?? ''), period: budget?.period ?? 'month' });

const AmountFields = ({ bind }: Pick<ReturnType<typeof useAmount>, 'bind'>) => (
  <div class="fields">
    <TextField label="Dollars" kind="number" {...bind('max_usd')} />
    <SelectField label="Period" options={PERIODS} {...bind('period')} />
  </div>
);

export const CreateBudget = (dialog: DialogProps) => {
  const { session, projects, project } = useShared();
  const [scope, setScope] = useState<Budget['scope']>('project');
  const owner = useForm({ project: project ?? projects[0]?.id ?? '', id: '' });
  const { values, bind } = useAmount();
  const label = NAMED[scope];
  const create = async () => {
    const id = label === undefined ? owner.values.project : owner.values.id;
    const { max_usd, period } = values;
    const of = { scope, project: owner.values.project, id };
    await call(session.api, 'set', of, { max_usd: Number(max_usd), period });
    return 'Set. A new budget applies within 15 seconds.';
  };
  return (
    <FormDialog
      title="Set budget"
      action="Set budget"
      busyAction="Setting…"
      isReady={values.max_usd !== '' && (label === undefined || owner.values.id !== '')}
      onSubmit={create}
      {...dialog}
    >
      <SelectField label="Budget of" options={SCOPES} value={scope} onChange={setScope} />
      {scope !== 'organisation' && (
        <SelectField
          label="Project"
          options={projects.map(({ id, name = id }) => ({ value: id, label: name }))}
          {...owner.bind('project')}
        />
      )}
      {label !== undefined && <TextField label={label} {...owner.bind('id')} />}
      <AmountFields bind={bind} />
      <p class="hint">
        Requests stop before they would cost more. An event is sent at 50, 80 and 100 %.
      </p>
    </FormDialog>
  );
};

type BudgetProps = DialogProps & { row: Budget };

export const ChangeBudget = ({ row: budget, ...dialog }: BudgetProps) => {
  const { session } = useShared();
  const { values, bind } = useAmount(budget);
  const save = async () => {
    const { max_usd, period } = values;
    await call(session.api, 'set', budget, { max_usd: Number(max_usd), period });
    return 'Saved. It applies to the next request, and to the next slice of a running one.';
  };
  return (
    <FormDialog
      title={`Budget of ${nameOf(budget)}`}
      isReady={values.max_usd !== ''}
      onSubmit={save}
      {...dialog}
    >
      <AmountFields bind={bind} />
      <p class="hint">
        Below what is spent, requests are denied at once. Another period begins at $0.
      </p>
    </FormDialog>
  );
};

export const PauseBudget = ({ row: budget, ...dialog }: BudgetProps) => {
  const { session } = useShared();
  const verb = budget.paused ? 'Resume' : 'Pause';
  const change = async () => {
    await call(session.api, 'set', budget, { paused: !budget.paused });
    return budget.paused ? 'Resumed.' : 'Paused: it counts, and limits no request.';
  };
  return (
    <FormDialog
      title={`${verb} the budget of ${nameOf(budget)}?`}
      action={verb}
      onSubmit={change}
      {...dialog}
    >
      <p>A paused budget counts what requests cost, and limits none of them.</p>
    </FormDialog>
  );
};

export const DELETE_BUDGET = deletion<Budget>({
  kind: 'budget',
  whatOf: (budget) => `the budget of ${nameOf(budget)}`,
  about: 'Its requests are limited by their other budgets only.',
  call: (api, budget) => call(api, 'delete', budget),
});
