import type { RequestSummary } from '../api/types.ts';
import { costText, milliseconds, plural } from '../parts/format.ts';
import { hrefOf } from '../parts/route.ts';
import { StatusPill } from '../parts/status-pill.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Instant } from '../parts/time.tsx';

const NO_COST = { cost_usd: 0, cost_estimated_usd: 0, incomplete_requests: 0 };

/** With the marks of a sum; undefined for a request that cost no money. */
const costOf = (row: RequestSummary): typeof NO_COST | undefined => {
  if (!('cost_usd' in row) || row.cost_usd === null) return undefined;
  return {
    cost_usd: row.cost_usd,
    cost_estimated_usd: row.cost_source === 'estimated' ? row.cost_usd : 0,
    incomplete_requests: row.cost_incomplete.length,
  };
};

const totalOf = (rows: readonly RequestSummary[]): string =>
  costText(
    rows
      .map((row) => costOf(row) ?? NO_COST)
      .reduce((sum, cost) => ({
        cost_usd: sum.cost_usd + cost.cost_usd,
        cost_estimated_usd: sum.cost_estimated_usd + cost.cost_estimated_usd,
        incomplete_requests: sum.incomplete_requests + cost.incomplete_requests,
      })),
  );

const failedIn = (rows: readonly RequestSummary[]): string => {
  const failed = rows.filter(({ outcome }) => outcome === 'failed').length;
  return failed === 0 ? 'none failed' : `${failed} failed`;
};

/** Kinds of failures that say little. */
const WORDS: Record<string, string> = { status: 'error of the provider' };

/** A link to the requests that have a value, too. */
const Filtered = ({ name, value }: { name: 'model' | 'target' | 'error'; value: string }) => (
  <a class="plain clip" title={value} href={hrefOf('requests', { [name]: value })}>
    {WORDS[value] ?? value}
  </a>
);

const COLUMNS: Column<RequestSummary>[] = [
  {
    title: 'Request',
    cell: ({ id }) => (
      <a class="mono clip" href={hrefOf('requests', { id })}>
        {id}
      </a>
    ),
    total: (rows) => plural(rows.length, 'request'),
  },
  {
    title: 'Time',
    cell: ({ created_at }) => (
      <span class="nowrap">
        <Instant at={created_at} />
      </span>
    ),
    sort: ({ created_at, id }) => `${created_at} ${id}`,
  },
  {
    title: 'Model and target',
    cell: ({ model, target }) => (
      <>
        {model ? <Filtered name="model" value={model} /> : <span class="clip">–</span>}
        {target !== null && (
          <span class="quiet clip">
            <Filtered name="target" value={target} />
          </span>
        )}
      </>
    ),
    sort: ({ model, target }) => `${model} ${target}`,
  },
  {
    title: 'Key',
    kind: 'wide',
    cell: ({ key, key_name: name, project }) =>
      // Of an unknown key the first characters, if it has the form of one.
      project === '' ? (
        <span class="mono clip">{key || '–'}</span>
      ) : (
        <a
          class="clip"
          title={name ? `${name} (${key})` : key}
          href={hrefOf('keys', { id: key, project })}
        >
          {name ?? key}
        </a>
      ),
    sort: ({ key, key_name: name }) => name ?? key,
  },
  {
    title: 'Status',
    cell: (row) => (
      <>
        <StatusPill {...row} />
        {'loop' in row && row.loop && <span class="quiet clip">in a loop</span>}
        {row.error && (
          <span class="quiet clip">
            <Filtered name="error" value={row.error} />
          </span>
        )}
      </>
    ),
    sort: ({ status, outcome }) => `${status} ${outcome}`,
    total: failedIn,
  },
  {
    title: 'First content',
    kind: 'number',
    cell: ({ first_content_ms: ms }) => (ms === null ? '–' : milliseconds(ms)),
    sort: ({ first_content_ms: ms }) => ms ?? undefined,
  },
  { title: 'Duration', kind: 'number', cell: ({ ms }) => milliseconds(ms), sort: ({ ms }) => ms },
  {
    title: 'Cost',
    kind: 'number',
    cell: (row) => {
      const cost = costOf(row);
      return (
        <>
          {cost ? costText(cost) : '–'}
          {!row.charged && <small>not charged</small>}
        </>
      );
    },
    sort: (row) => costOf(row)?.cost_usd,
    total: totalOf,
  },
];

/** A table of requests, each with a link to its timeline. */
export const RequestTable = ({ rows }: { rows: RequestSummary[] }) => (
  <Table
    look="scroll names"
    caption="Requests"
    columns={COLUMNS}
    rows={rows}
    keyOf={({ id }) => id}
  />
);
