import type { ComponentChildren } from 'preact';
import { useShared } from '../parts/context.ts';
import { shortCount } from '../parts/format.ts';
import { Menu } from '../parts/menu.tsx';
import { Meter } from '../parts/meter.tsx';
import { hrefOf } from '../parts/route.ts';
import { type Column, Table } from '../parts/table.tsx';
import { Instant } from '../parts/time.tsx';
import { nameOf } from './key-dialogs.tsx';
import { isEnded, type KeyRow, statusOf } from './keys-data.ts';

export type KeyAction = 'rotate' | 'edit' | 'move' | 'pause' | 'resume' | 'revoke';
type Actions = { mayChange: boolean; onAction: (action: KeyAction, row: KeyRow) => void };

const Status = ({ row }: { row: KeyRow }) => {
  const { text, tone } = statusOf(row);
  return <span class={`pill is-${tone}`}>{text}</span>;
};

const Name = ({ row }: { row: KeyRow }) => (
  <>
    <strong class="clip" dir="auto" title={row.name}>
      {row.name ?? <span class="quiet">unnamed</span>}
    </strong>
    <span class="mono quiet clip">{row.id}</span>
  </>
);

const Period = ({ counts }: KeyRow): ComponentChildren => {
  if (counts?.quota === undefined) return '–';
  return (
    <>
      <Meter used={counts.used ?? 0} limit={counts.quota} />
      {counts.resets_at && (
        <span class="quiet nowrap">
          resets <Instant at={counts.resets_at} isRelative />
        </span>
      )}
    </>
  );
};

const Ends = ({ row }: { row: KeyRow }) => {
  if (row.expires_at === undefined) return <span class="quiet">never</span>;
  return <Instant at={row.expires_at} isRelative />;
};

const RowActions = ({ row, onAction }: { row: KeyRow } & Pick<Actions, 'onAction'>) => {
  const { session } = useShared();
  const choose = (action: KeyAction) => () => onAction(action, row);
  const isPaused = row.status === 'paused';
  return (
    <span class="row-actions">
      <button
        type="button"
        class="button is-small"
        aria-label={`Rotate ${nameOf(row)}`}
        onClick={choose('rotate')}
      >
        Rotate
      </button>
      <Menu
        label={`More actions for ${nameOf(row)}`}
        items={[
          { label: 'Edit…', onChoose: choose('edit') },
          ...(session.isOperator ? [{ label: 'Move to a plan…', onChoose: choose('move') }] : []),
          {
            label: isPaused ? 'Resume' : 'Pause',
            onChoose: choose(isPaused ? 'resume' : 'pause'),
          },
          {
            label: 'Its requests',
            onChoose: () => {
              location.hash = hrefOf('requests', { project: row.project, key: row.id });
            },
          },
          { label: 'Revoke…', isDangerous: true, onChoose: choose('revoke') },
        ]}
      />
    </span>
  );
};

const LastUsed = ({ counts }: KeyRow) =>
  counts?.last_used_at ? (
    <span class="nowrap">
      <Instant at={counts.last_used_at} isRelative />
    </span>
  ) : (
    <span class="quiet">{counts ? 'never' : '–'}</span>
  );

const Minute = ({ counts }: KeyRow) => (
  <span class="nowrap number">
    {counts?.rpm === undefined ? '–' : `${counts.used_this_minute} / ${shortCount(counts.rpm)}`}
  </span>
);

const columnsWith = ({ mayChange, onAction }: Actions): Column<KeyRow>[] => [
  { title: 'Name', cell: (row) => <Name row={row} /> },
  { title: 'Key', cell: ({ start }) => <code class="nowrap">{start}…</code> },
  { title: 'Plan', cell: ({ plan }) => <span class="clip">{plan}</span> },
  { title: 'Used this period', cell: Period },
  { title: 'This minute', kind: 'wide', cell: Minute },
  { title: 'Last used', cell: LastUsed },
  { title: 'Expires', kind: 'wide', cell: (row) => <Ends row={row} /> },
  { title: 'Status', cell: (row) => <Status row={row} /> },
  {
    title: 'Actions',
    kind: 'actions',
    cell: (row) => mayChange && !isEnded(row) && <RowActions row={row} onAction={onAction} />,
  },
];

export const KeyTable = ({ rows, ...actions }: Actions & { rows: KeyRow[] }) => (
  <Table
    caption="API keys"
    columns={columnsWith(actions)}
    rows={rows}
    keyOf={({ id }) => id}
    classOf={(row) => (isEnded(row) ? 'is-ended' : '')}
  />
);
