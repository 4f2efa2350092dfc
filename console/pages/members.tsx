import type { Member } from '../api/types.ts';
import { Empty, Instant, Page, Shown } from '../parts/blocks.tsx';
import { ConfirmDialog } from '../parts/confirm-dialog.tsx';
import { useShared } from '../parts/context.ts';
import { FormDialog, useForm } from '../parts/dialog.tsx';
import { CheckList, SelectField, TextField } from '../parts/field.tsx';
import { useFilters } from '../parts/filters.ts';
import { More, usePaged } from '../parts/paged.tsx';
import { hrefOf } from '../parts/route.ts';
import { type Action, type DialogProps, useActions } from '../parts/row-actions.tsx';
import { FilterSearch } from '../parts/search.tsx';
import { type Column, named, Table } from '../parts/table.tsx';

const PROJECT = 'project:';

const useRoles = (): { value: string; label: string }[] => {
  const { projects } = useShared();
  return [
    { value: 'operator', label: 'Operator: everything' },
    { value: 'viewer', label: 'Viewer: sees everything, changes nothing' },
    ...projects.map(({ id, name = id }) => ({
      value: `${PROJECT}${id}`,
      label: `Member of ${name}: its keys, usage and requests`,
    })),
  ];
};

const InviteMember = (dialog: DialogProps) => {
  const { session, project } = useShared();
  const { values, bind } = useForm({
    email: '',
    role: project === undefined ? 'viewer' : `${PROJECT}${project}`,
  });
  const invite = async () => {
    const { email } = values;
    const { invitation } = await session.api('members.invite', {}, values);
    return invitation === 'none'
      ? `${email} has the role, and signs in as before.`
      : `Invited ${email}. The password in the e-mail is valid for 3 days.`;
  };
  return (
    <FormDialog
      title="Invite member"
      action="Send invitation"
      busyAction="Sending…"
      onSubmit={invite}
      {...dialog}
    >
      <TextField
        label="E-mail address"
        hint="Who was invited before gets another e-mail."
        {...bind('email')}
      />
      <SelectField label="Role" options={useRoles()} {...bind('role')} />
    </FormDialog>
  );
};

type MemberProps = DialogProps & { row: Member };

const ChangeRoles = ({ row: member, ...dialog }: MemberProps) => {
  const { session } = useShared();
  const options = useRoles();
  const { values, bind } = useForm({
    roles: options
      .map(({ value }) => value)
      .filter((role) => member.roles.some((own) => own === role)),
  });
  const save = async () => {
    await session.api('members.set', { member: member.email }, values);
    return 'Saved. A page that is open has the earlier roles for up to 15 minutes.';
  };
  return (
    <FormDialog
      title={`Roles of ${member.email}`}
      isReady={values.roles.length > 0}
      onSubmit={save}
      {...dialog}
    >
      <CheckList
        legend="Roles"
        hint="A member has at least one. Remove the member to end its access."
        options={options}
        {...bind('roles')}
      />
    </FormDialog>
  );
};

const RemoveMember = ({ row: { email }, ...dialog }: MemberProps) => {
  const { session } = useShared();
  const remove = async () => {
    await session.api('members.remove', { member: email });
    return `Removed ${email}.`;
  };
  return (
    <ConfirmDialog
      title={`Remove ${email}?`}
      action="Remove member"
      busyAction="Removing…"
      name={email}
      onSubmit={remove}
      {...dialog}
    >
      <p>
        The member cannot sign in any more; a page that is open works for up to 15 minutes. Keys
        that the member created keep working.
      </p>
    </ConfirmDialog>
  );
};

const Role = ({ role }: { role: string }) => {
  const { projects } = useShared();
  if (!role.startsWith(PROJECT)) return <span class="tag">{role}</span>;
  const id = role.slice(PROJECT.length);
  const name = projects.find((project) => project.id === id)?.name ?? id;
  return (
    <a class="tag" href={hrefOf('members', { project: id })}>
      {name}
    </a>
  );
};

const TONES = { invited: 'warn', active: 'good', disabled: 'off' };

const COLUMNS: Column<Member>[] = [
  named('Member', ({ email }) => email),
  {
    title: 'Roles',
    sort: ({ roles }) => roles.join(),
    cell: ({ roles }) => (
      <span class="tags">
        {roles.length === 0 && <span class="quiet">none</span>}
        {roles.map((role) => (
          <Role key={role} role={role} />
        ))}
      </span>
    ),
  },
  {
    title: 'Status',
    sort: ({ status }) => status,
    cell: ({ status }) => <span class={`pill is-${TONES[status]}`}>{status}</span>,
  },
  {
    title: 'Invited',
    cell: ({ invited_at }) => <Instant at={invited_at} />,
    sort: ({ invited_at }) => invited_at,
  },
];

const ACTIONS: Action<Member>[] = [
  { label: 'Roles…', dialog: ChangeRoles },
  { label: 'Remove…', isDangerous: true, dialog: RemoveMember },
];

/** The loopback address, and a stage without a console. */
const NoSignIn = () => (
  <Empty icon="person" title="This address needs no sign-in, so it has no members">
    <p>
      On AWS members sign in to a user pool of the stack. Invite the first operator from a terminal;
      operators invite others on this page.
    </p>
    <code>npm run admin -- operators invite EMAIL --stack NAME</code>
  </Empty>
);

const SUBTITLE = 'Who may sign in, and in which roles.';

export const MembersPage = () => {
  const { session, project } = useShared();
  const { values, bind } = useFilters('members');
  const { q } = values;
  const members = usePaged<Member>(`${project} ${q}`, (cursor) =>
    session.api('members.list', {}, { project, q, cursor }),
  );
  const { create, columnsWith, dialog } = useActions({
    create: { label: 'Invite member', dialog: InviteMember },
    nameOf: ({ email }) => email,
    actions: ACTIONS,
    onChanged: members.reload,
  });
  if (members.failure?.status === 404) {
    return (
      <Page title="Members" subtitle={SUBTITLE}>
        <NoSignIn />
      </Page>
    );
  }
  const subtitle = project ? `Members of project ${project}` : SUBTITLE;
  return (
    <Page title="Members" subtitle={subtitle} actions={create}>
      {project === undefined && (
        <div class="toolbar">
          <FilterSearch
            label="Search members"
            placeholder="Beginning of an address"
            {...bind('q')}
          />
        </div>
      )}
      <Shown of={members}>
        {({ data }) => (
          <Table
            caption="Members"
            columns={columnsWith(COLUMNS)}
            rows={data}
            keyOf={({ email }) => email}
            empty={
              <Empty icon="person" title={q ? `No address begins with “${q}”` : 'No members yet'}>
                <p>
                  Operators and viewers see every project, members those that they are added to.
                </p>
              </Empty>
            }
          />
        )}
      </Shown>
      <More of={members} />
      {dialog}
    </Page>
  );
};
