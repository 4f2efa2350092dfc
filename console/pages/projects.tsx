import { useState } from 'preact/hooks';
import type { Project } from '../api/types.ts';
import { DeleteDialog } from '../parts/confirm-dialog.tsx';
import { useShared } from '../parts/context.ts';
import { FormDialog, useForm } from '../parts/dialog.tsx';
import { CheckList, IdField, TextField } from '../parts/field.tsx';
import { plural } from '../parts/format.ts';
import { MainButton, Page } from '../parts/page.tsx';
import { hrefOf } from '../parts/route.ts';
import { actionsColumn } from '../parts/row-actions.tsx';
import { Empty } from '../parts/states.tsx';
import { AllowedNames, type Column, Maximum, Table } from '../parts/table.tsx';
import { Instant } from '../parts/time.tsx';
import { WebhookDialog } from './webhook-dialog.tsx';

type DialogProps = { project: Project | undefined; onClose: () => void };

const ProjectDialog = ({ project, onClose }: DialogProps) => {
  const { session, plans, reloadShared } = useShared();
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
    reloadShared();
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

type Opened = { kind: 'create' } | { kind: 'edit' | 'webhook' | 'delete'; project: Project };

const COLUMNS: Column<Project>[] = [
  {
    title: 'Project',
    cell: ({ id, name }) => (
      <>
        <strong class="clip" dir="auto">
          {name ?? id}
        </strong>
        <span class="mono quiet clip">{id}</span>
      </>
    ),
    sort: ({ id, name }) => name ?? id,
    total: (rows) => plural(rows.length, 'project'),
  },
  { title: 'Plans', cell: ({ plans }) => <AllowedNames names={plans} /> },
  {
    title: 'Active keys at most',
    kind: 'number',
    cell: ({ max_keys: maxKeys }) => <Maximum value={maxKeys} />,
    sort: ({ max_keys: maxKeys }) => maxKeys,
  },
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

const actionsWith = (open: (opened: Opened) => void) =>
  actionsColumn((project: Project) => ({
    name: project.id,
    main: { label: 'Edit', onChoose: () => open({ kind: 'edit', project }) },
    more: [
      {
        label: 'Its members',
        onChoose: () => {
          location.hash = hrefOf('members', { project: project.id });
        },
      },
      { label: 'Webhook…', onChoose: () => open({ kind: 'webhook', project }) },
      { label: 'Delete…', isDangerous: true, onChoose: () => open({ kind: 'delete', project }) },
    ],
  }));

/** Settings, Projects: what keys belong to. */
export const ProjectsPage = () => {
  const { session, projects } = useShared();
  const [opened, setOpened] = useState<Opened>();
  const onClose = () => setOpened(undefined);
  const create = session.isOperator && (
    <MainButton onClick={() => setOpened({ kind: 'create' })}>Create project</MainButton>
  );
  return (
    <Page
      title="Projects"
      subtitle="A project owns keys; a member sees its projects only."
      actions={create}
    >
      {projects.length === 0 ? (
        <Empty icon="projects" title="No projects yet">
          <p>A project owns keys, for one team or one product.</p>
          {create}
        </Empty>
      ) : (
        <Table
          caption="Projects"
          columns={session.isOperator ? [...COLUMNS, actionsWith(setOpened)] : COLUMNS}
          rows={projects}
          keyOf={({ id }) => id}
        />
      )}
      {opened?.kind === 'create' && <ProjectDialog project={undefined} onClose={onClose} />}
      {opened?.kind === 'edit' && <ProjectDialog project={opened.project} onClose={onClose} />}
      {opened?.kind === 'webhook' && (
        <WebhookDialog project={opened.project.id} onClose={onClose} />
      )}
      {opened?.kind === 'delete' && (
        <DeleteDialog kind="project" id={opened.project.id} onClose={onClose}>
          <p>
            Its history, requests and audit remain, and its id cannot be used again. A project with
            usable keys is not deleted: revoke them before.
          </p>
        </DeleteDialog>
      )}
    </Page>
  );
};
