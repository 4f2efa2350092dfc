import type { ComponentChildren } from 'preact';
import { Clip, Instant } from '../parts/blocks.tsx';
import { dollars, plural } from '../parts/format.ts';
import { Meter } from '../parts/meter.tsx';
import { hrefOf } from '../parts/route.ts';
import { type Column, figures, Table } from '../parts/table.tsx';
import type { KeyActions } from './key-actions.tsx';
import { isEnded, type KeyRow, nameOf, statusOf } from './keys-data.ts';

export const KeyStatus = ({ row }: { row: KeyRow }) => {
  const { text, tone } = statusOf(row);
  return <span class={`pill is-${tone}`}>{text}</span>;
};

const Name = ({ row: { id, name, project, start } }: { row: KeyRow }) => (
  <>
    <a class="strong clip" dir="auto" title={name} href={hrefOf('keys', { id, project })}>
      {name ?? <span class="quiet">unnamed</span>}
    </a>
    <Clip look="mono quiet" text={`${start}…`} title={id} />
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

const LastUsed = ({ counts }: KeyRow) =>
  counts?.last_used_at ? (
    <span class="nowrap">
      <Instant at={counts.last_used_at} isRelative />
    </span>
  ) : (
    <span class="quiet">{counts ? 'never' : '–'}</span>
  );

const columnsWith = (actionsOf: KeyActions['actionsOf']): Column<KeyRow>[] => [
  {
    title: 'Name',
    cell: (row) => <Name row={row} />,
    sort: nameOf,
    total: (rows) => plural(rows.length, 'key'),
  },
  { title: 'Plan', cell: ({ plan }) => <span class="clip">{plan}</span>, sort: ({ plan }) => plan },
  { title: 'Used this period', cell: Period, sort: ({ counts }) => counts?.used },
  figures('Cost this month', ({ spend }) => spend, { format: dollars, isSummed: true }),
  { title: 'Last used', cell: LastUsed, sort: ({ counts }) => counts?.last_used_at },
  {
    title: 'Expires',
    kind: 'wide',
    cell: ({ expires_at: end }) =>
      end ? <Instant at={end} isRelative /> : <span class="quiet">never</span>,
    sort: ({ expires_at: end }) => end,
  },
  { title: 'Status', cell: (row) => <KeyStatus row={row} />, sort: (row) => statusOf(row).text },
  { title: 'Actions', kind: 'actions', cell: actionsOf },
];

type TableProps = { rows: KeyRow[]; actionsOf: KeyActions['actionsOf'] };

export const KeyTable = ({ rows, actionsOf }: TableProps) => (
  <Table
    caption="API keys"
    columns={columnsWith(actionsOf)}
    rows={rows}
    keyOf={({ id }) => id}
    classOf={(row) => (isEnded(row) ? 'is-ended' : '')}
  />
);
