import type { Project } from '../api/types.ts';
import { Empty, Instant, Page } from '../parts/blocks.tsx';
import { deletion } from '../parts/confirm-dialog.tsx';
import { useShared } from '../parts/context.ts';
import { FormDialog, useForm } from '../parts/dialog.tsx';
import { CheckList, IdField, TextField } from '../parts/field.tsx';
import { hrefOf } from '../parts/route.ts';
import { type Action, type DialogProps, useActions } from '../parts/row-actions.tsx';
import { AllowedNames, type Column, figures, Maximum, named, Table } from '../parts/table.tsx';
import { WebhookDialog } from './webhook-dialog.tsx';

const ProjectDialog = ({ row: project, onClose, onChanged }: DialogProps & { row?: Project }) => {
  const { session, plans } = useShared();
  const { values, bind } = useForm({
    id: '',
    name: project?.name ?? '',
    max_keys: String(project?.max_keys ?? ''),
    plans: project?.plans ?? [],
  });
  const save = async () => {
    const { id, name, max_keys: maxKeys, plans: allowed } = values;
    // A new project has no fields that could be removed.
    const none = project ? null : undefined;
    const body = {
      name: name.trim() === '' ? none : name,
      max_keys: maxKeys === '' ? none : Number(maxKeys),
      plans: allowed.length === 0 ? none : allowed,
    };
    if (project) await session.api('projects.set', { project: project.id }, body);
    else await session.api('projects.create', {}, { id, ...body });
    return project ? 'Saved. It applies to new keys.' : `Created project ${id}.`;
  };
  /** The page of a new project's keys, of which the first is made next. */
  const show = () => {
    if (!project) location.hash = hrefOf('keys', { project: values.id });
    onChanged();
  };
  return (
    <FormDialog
      title={project ? `Edit project “${project.id}”` : 'Create project'}
      action={project ? 'Save' : 'Create project'}
      onClose={onClose}
      onChanged={show}
      onSubmit={save}
    >
      {!project && <IdField {...bind('id')} />}
      <TextField label="Name" maxLength={100} hint="What people call it." {...bind('name')} />
      <TextField
        label="Active keys at most"
        kind="number"
        placeholder="any number"
        hint="Each key has its own quota: without a maximum, members multiply it."
        {...bind('max_keys')}
      />
      <CheckList
        legend="Plans that its keys may have"
        hint="None ticked: all plans. Keys that exist keep theirs."
        options={plans.map((plan) => ({ value: plan.id, label: plan.id }))}
        {...bind('plans')}
      />
    </FormDialog>
  );
};

const COLUMNS: Column<Project>[] = [
  named('Project', ({ id, name }) => name ?? id, {
    cell: ({ id, name }) => (
      <>
        <strong class="clip" dir="auto">
          {name ?? id}
        </strong>
        <span class="mono quiet clip">{id}</span>
      </>
    ),
  }),
  { title: 'Plans', cell: ({ plans }) => <AllowedNames names={plans} /> },
  figures('Active keys at most', ({ max_keys: maxKeys }) => maxKeys, {
    cell: ({ max_keys: maxKeys }) => <Maximum value={maxKeys} />,
  }),
  {
    title: 'Created',
    kind: 'wide',
    cell: ({ created_at }) => <Instant at={created_at} />,
    sort: ({ created_at }) => created_at,
  },
  {
    title: 'Show',
    cell: ({ id }) => (
      <span class="row-actions is-start">
        <a href={hrefOf('keys', { project: id })}>Keys</a>
        <a href={hrefOf('usage', { project: id })}>Usage</a>
        <a href={hrefOf('requests', { project: id })}>Requests</a>
      </span>
    ),
  },
];

const ACTIONS: Action<Project>[] = [
  { label: 'Edit', dialog: ProjectDialog },
  { label: 'Its members', href: ({ id }) => hrefOf('members', { project: id }) },
  { label: 'Webhook…', dialog: WebhookDialog },
  deletion({
    kind: 'project',
    about:
      'Its history, requests and audit remain, and its id cannot be used again. A project with usable keys is not deleted: revoke them before.',
    call: (api, { id }) => api('projects.delete', { project: id }),
  }),
];

export const ProjectsPage = () => {
  const { projects, reloadShared } = useShared();
  const { create, columnsWith, dialog } = useActions({
    create: { label: 'Create project', dialog: ProjectDialog },
    nameOf: ({ id }) => id,
    actions: ACTIONS,
    onChanged: reloadShared,
  });
  return (
    <Page
      title="Projects"
      subtitle="A project owns keys; a member sees its projects only."
      actions={create}
    >
      <Table
        caption="Projects"
        columns={columnsWith(COLUMNS)}
        rows={projects}
        keyOf={({ id }) => id}
        empty={
          <Empty icon="projects" title="No projects yet">
            <p>A project owns keys, for one team or one product.</p>
            {create}
          </Empty>
        }
      />
      {dialog}
    </Page>
  );
};
