import type { ComponentChildren } from 'preact';
import { Meter } from '../parts/meter.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Instant } from '../parts/time.tsx';
import { nameOf } from './key-dialogs.tsx';
import { isEnded, type KeyRow, statusOf } from './keys-data.ts';

type Actions = { mayChange: boolean; onOpen: (kind: 'rotate' | 'revoke', row: KeyRow) => void };

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

const columnsWith = ({ mayChange, onOpen }: Actions): Column<KeyRow>[] => [
  { title: 'Name', cell: (row) => <Name row={row} /> },
  { title: 'Key', cell: ({ start }) => <code class="nowrap">{start}…</code> },
  { title: 'Plan', cell: ({ plan }) => <span class="clip">{plan}</span> },
  { title: 'Used this period', cell: Period },
  {
    title: 'This minute',
    kind: 'wide',
    cell: ({ counts }) =>
      counts?.rpm === undefined ? (
        '–'
      ) : (
        <span class="nowrap number">
          {counts.used_this_minute} / {counts.rpm}
        </span>
      ),
  },
  {
    title: 'Last used',
    cell: ({ counts }) =>
      counts?.last_used_at ? (
        <span class="nowrap">
          <Instant at={counts.last_used_at} isRelative />
        </span>
      ) : (
        <span class="quiet">never</span>
      ),
  },
  { title: 'Expires', kind: 'wide', cell: (row) => <Ends row={row} /> },
  { title: 'Status', cell: (row) => <Status row={row} /> },
  {
    title: 'Actions',
    kind: 'actions',
    cell: (row) =>
      mayChange &&
      !isEnded(row) && (
        <span class="row-actions">
          <button
            type="button"
            class="button is-small"
            aria-label={`Rotate ${nameOf(row)}`}
            onClick={() => onOpen('rotate', row)}
          >
            Rotate
          </button>
          <button
            type="button"
            class="button is-small is-danger-text"
            aria-label={`Revoke ${nameOf(row)}`}
            onClick={() => onOpen('revoke', row)}
          >
            Revoke
          </button>
        </span>
      ),
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
