import type { ComponentChildren } from 'preact';
import type { RequestSummary } from '../api/types.ts';
import { Clip, Instant } from '../parts/blocks.tsx';
import { costText, milliseconds, plural } from '../parts/format.ts';
import { hrefOf } from '../parts/route.ts';
import { StatusPill } from '../parts/status-pill.tsx';
import { type Column, figures, Table } from '../parts/table.tsx';

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
  <Clip
    look="plain"
    text={WORDS[value] ?? value}
    title={value}
    href={hrefOf('requests', { [name]: value })}
  />
);

const COLUMNS: Column<RequestSummary>[] = [
  {
    title: 'Request',
    cell: ({ id }) => <Clip look="mono" text={id} href={hrefOf('requests', { id })} />,
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
        <Clip
          text={name ?? key}
          title={name ? `${name} (${key})` : key}
          href={hrefOf('keys', { id: key, project })}
        />
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
  figures('First content', ({ first_content_ms: ms }) => ms, { format: milliseconds }),
  figures('Duration', ({ ms }) => ms, { format: milliseconds }),
  figures('Cost', (row) => costOf(row)?.cost_usd, {
    cell: (row) => {
      const cost = costOf(row);
      return (
        <>
          {cost ? costText(cost) : '–'}
          {!row.charged && <small>not charged</small>}
        </>
      );
    },
    total: totalOf,
  }),
];

export const RequestTable = (list: { rows: RequestSummary[]; empty?: ComponentChildren }) => (
  <Table
    look="scroll names"
    caption="Requests"
    columns={COLUMNS}
    keyOf={({ id }) => id}
    {...list}
  />
);
