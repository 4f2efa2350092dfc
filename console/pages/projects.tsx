import { useState } from 'preact/hooks';
import type { Project } from '../api/types.ts';
import { useShared } from '../parts/context.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { announce } from '../parts/notice.tsx';
import { Page } from '../parts/page.tsx';
import { hrefOf } from '../parts/route.ts';
import { Empty } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Instant } from '../parts/time.tsx';

const CreateProject = ({ onClose }: { onClose: () => void }) => {
  const { session, reloadShared } = useShared();
  const [id, setId] = useState('');
  const [name, setName] = useState('');
  const create = async () => {
    await session.api.post('projects', { id, ...(name.trim() !== '' && { name }) });
    onClose();
    reloadShared();
    announce(`Created project ${id}.`);
  };
  return (
    <FormDialog
      title="Create project"
      action="Create project"
      busyAction="Creating…"
      onClose={onClose}
      onSubmit={create}
    >
      {(failure) => (
        <>
          <Field label="Id" param="id" failure={failure} hint="Letters, digits, dots, dashes.">
            {(attributes) => (
              <input
                {...attributes}
                type="text"
                value={id}
                onInput={({ currentTarget }) => setId(currentTarget.value)}
              />
            )}
          </Field>
          <Field label="Name" param="name" failure={failure} hint="What people call it.">
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
        </>
      )}
    </FormDialog>
  );
};

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
  },
  { title: 'Created', cell: ({ created_at }) => <Instant at={created_at} /> },
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

/** Settings, Projects: what keys belong to. */
export const ProjectsPage = () => {
  const { session, projects } = useShared();
  const [isOpen, setOpen] = useState(false);
  const create = (
    <button
      type="button"
      class="button is-primary"
      disabled={!session.isOperator}
      onClick={() => setOpen(true)}
    >
      Create project
    </button>
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
        <div class="panel scroll">
          <Table caption="Projects" columns={COLUMNS} rows={projects} keyOf={({ id }) => id} />
        </div>
      )}
      {isOpen && <CreateProject onClose={() => setOpen(false)} />}
    </Page>
  );
};
