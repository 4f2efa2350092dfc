import { useState } from 'preact/hooks';
import type { RequestSummary } from '../api/types.ts';
import { useShared } from '../parts/context.ts';
import { Choices } from '../parts/field.tsx';
import { costText, milliseconds, plural } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import { Page } from '../parts/page.tsx';
import { More, usePaged } from '../parts/paged.tsx';
import { hrefOf } from '../parts/route.ts';
import { Search } from '../parts/search.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { StatusPill } from '../parts/status-pill.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Instant } from '../parts/time.tsx';
import { RequestDetails } from './request-details.tsx';

const STATUSES = [
  { value: '', label: 'All' },
  { value: 'failed', label: 'Failed' },
  { value: '5xx', label: '5xx' },
  { value: '4xx', label: '4xx' },
  { value: 'refused', label: 'Refused' },
  { value: 'abandoned', label: 'Disconnected' },
] as const;
type Status = (typeof STATUSES)[number]['value'];

const RANGES = [
  { value: '1', label: '24 hours' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
] as const;
type Days = (typeof RANGES)[number]['value'];

const DAY_MS = 86_400_000;

/** With the marks of a sum; undefined for a request that cost no money. */
const costOf = (row: RequestSummary): string | undefined => {
  if (!('cost_usd' in row) || row.cost_usd === null) return undefined;
  return costText({
    cost_usd: row.cost_usd,
    cost_estimated_usd: row.cost_source === 'estimated' ? row.cost_usd : 0,
    incomplete_requests: row.cost_incomplete.length,
  });
};

const COLUMNS: Column<RequestSummary>[] = [
  {
    title: 'Request',
    cell: ({ id }) => (
      <a class="mono clip" href={hrefOf('requests', { id })}>
        {id}
      </a>
    ),
  },
  {
    title: 'Time',
    cell: ({ created_at }) => (
      <span class="nowrap">
        <Instant at={created_at} />
      </span>
    ),
  },
  { title: 'Model', cell: ({ model }) => <span class="clip">{model || '-'}</span> },
  {
    title: 'Key',
    kind: 'wide',
    cell: ({ key, key_name: name, project }) => (
      <a
        class="clip"
        title={name ? `${name} (${key})` : key}
        href={hrefOf('keys', { id: key, project })}
      >
        {name ?? key}
      </a>
    ),
  },
  { title: 'Status', cell: StatusPill },
  {
    title: 'Charged',
    cell: ({ charged }) => (charged ? 'charged' : <span class="quiet nowrap">not charged</span>),
  },
  {
    title: 'First content',
    kind: 'number',
    cell: ({ first_content_ms: ms }) => (ms === null ? '–' : milliseconds(ms)),
  },
  { title: 'Duration', kind: 'number', cell: ({ ms }) => milliseconds(ms) },
  { title: 'Cost', kind: 'number', cell: (row) => costOf(row) ?? '–' },
];

/** For whom requests were. */
const WHO = ['user', 'session', 'agent', 'client', 'tag'] as const;

/** What the shown requests of a session cost, in the order in which they began. */
const SessionTable = ({ rows, isAll }: { rows: RequestSummary[]; isAll: boolean }) => {
  const sums = { cost_usd: 0, cost_estimated_usd: 0, incomplete_requests: 0 };
  for (const row of rows) {
    if (!('cost_usd' in row)) continue;
    sums.cost_usd += row.cost_usd ?? 0;
    sums.cost_estimated_usd += row.cost_source === 'estimated' ? (row.cost_usd ?? 0) : 0;
    sums.incomplete_requests += row.cost_incomplete.length > 0 ? 1 : 0;
  }
  return (
    <>
      <p class="page-actions">
        {plural(rows.length, 'request')}
        {isAll ? '' : ' so far'} · {costText(sums)}
      </p>
      <RequestTable rows={rows.toReversed()} />
    </>
  );
};

/** A table of requests, each with a link to its timeline. */
export const RequestTable = ({ rows }: { rows: RequestSummary[] }) => (
  <div class="panel scroll requests">
    <Table caption="Requests" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} />
  </div>
);

const FindRequest = () => {
  const [id, setId] = useState('');
  const find = (event: Event) => {
    event.preventDefault();
    if (id.trim() !== '') location.hash = hrefOf('requests', { id: id.trim() });
  };
  return (
    <form class="page-actions" onSubmit={find}>
      <Search label="Request id" placeholder="req_…" value={id} onChange={setId} />
      <button type="submit" class="button">
        Show
      </button>
    </form>
  );
};

const RequestList = () => {
  const { session, project, route } = useShared();
  const key = route.query.get('key') ?? undefined;
  const [status, setStatus] = useState<Status>('');
  const who = Object.fromEntries(
    WHO.map((name) => [name, route.query.get(name) ?? undefined] as const),
  );
  const named = Object.entries(who).filter(([, value]) => value !== undefined);
  const [days, setDays] = useState<Days>(named.length > 0 ? '7' : '1');
  const asked = `${project} ${key} ${status} ${days} ${JSON.stringify(who)}`;
  const requests = usePaged<RequestSummary>(asked, (cursor) =>
    session.api(
      'requests.list',
      {},
      {
        project,
        key,
        status,
        cursor,
        ...who,
        since: new Date(Date.now() - Number(days) * DAY_MS).toISOString(),
      },
    ),
  );
  return (
    <Page
      title={who.session ? 'Session' : 'Requests'}
      subtitle="One line a request; of refused ones, those of a week. Prompts and responses are never stored."
      actions={<FindRequest />}
    >
      <div class="toolbar">
        <Choices
          legend="Status"
          isLegendHidden
          value={status}
          options={STATUSES}
          onChange={setStatus}
        />
        <Choices legend="Range" isLegendHidden value={days} options={RANGES} onChange={setDays} />
        {key && (
          <a class="button is-small" href={hrefOf('requests', { project })}>
            Key {key} <Icon name="close" />
          </a>
        )}
        {named.map(([name, value]) => (
          <a
            key={name}
            class="button is-small"
            href={hrefOf('requests', { project, key, ...who, [name]: undefined })}
          >
            {name} <span class="clip">{value}</span> <Icon name="close" />
          </a>
        ))}
      </div>
      <Shown of={requests}>
        {({ data, next_cursor: cursor }) =>
          data.length === 0 && !cursor ? (
            <Empty icon="requests" title="No such requests">
              <p>Requests appear here as soon as they end.</p>
            </Empty>
          ) : who.session ? (
            <SessionTable rows={data} isAll={!cursor} />
          ) : (
            <RequestTable rows={data} />
          )
        }
      </Shown>
      <More of={requests} />
    </Page>
  );
};

/** The list of requests, or one of them. */
export const RequestsPage = () => {
  const { id } = useShared().route;
  return id === undefined ? <RequestList /> : <RequestDetails key={id} id={id} />;
};
