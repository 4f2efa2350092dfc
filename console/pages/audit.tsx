import { useState } from 'preact/hooks';
import type { AuditEntry, PagedList } from '../api/types.ts';
import { useShared } from '../parts/context.ts';
import { Icon } from '../parts/icons.tsx';
import { useLoad } from '../parts/load.ts';
import { Page } from '../parts/page.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Instant } from '../parts/time.tsx';

const text = (value: unknown): string => {
  if (value === undefined || value === null) return '–';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

/** The fields that differ: `quota 10 → 20`; what was created is named by its ids. */
const changesOf = ({ before, after = {} }: AuditEntry): string[] => {
  if (!before) return [];
  return Object.keys({ ...before, ...after })
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map((name) => `${name} ${text(before[name])} → ${text(after[name])}`);
};

/** An ARN is long, and its end names the person. */
const nameIn = (who: string): string => who.slice(who.lastIndexOf('/') + 1);

const COLUMNS: Column<AuditEntry>[] = [
  { title: 'Time', cell: ({ at }) => <Instant at={at} /> },
  {
    title: 'Who',
    cell: ({ who }) => (
      <span class="clip" title={who}>
        {nameIn(who)}
      </span>
    ),
  },
  { title: 'Action', cell: ({ action }) => <code>{action}</code> },
  {
    title: 'What',
    cell: ({ project, plan, key }) => (
      <span class="mono clip">{[project, key ?? plan].filter(Boolean).join(' / ')}</span>
    ),
  },
  {
    title: 'Change',
    cell: (entry) => changesOf(entry).map((line) => <div key={line}>{line}</div>),
  },
  {
    title: 'Outcome',
    cell: ({ outcome }) => (
      <span class={`pill is-${outcome === 'applied' ? 'good' : 'warn'}`}>{outcome}</span>
    ),
  },
];

/** Settings, Audit: who changed what. */
export const AuditPage = () => {
  const { session, project } = useShared();
  const [who, setWho] = useState('');
  const load = (cursor?: string) =>
    session.api.get<PagedList<AuditEntry>>('audit', { project, who, cursor });
  const audit = useLoad(`${project} ${who}`, () => load());
  const loadMore = async (cursor: string) => {
    const next = await load(cursor);
    audit.change(({ data }) => ({ ...next, data: [...data, ...next.data] }));
  };
  return (
    <Page title="Audit" subtitle="Who changed what, the last 90 days.">
      <div class="toolbar">
        <label class="search">
          <Icon name="search" />
          <span class="sr-only">Part of a name</span>
          <input
            type="search"
            placeholder="Who"
            value={who}
            onInput={({ currentTarget }) => setWho(currentTarget.value)}
          />
        </label>
      </div>
      <Shown of={audit}>
        {({ data, next_cursor: cursor }) =>
          data.length === 0 && !cursor ? (
            <Empty icon="audit" title="No changes">
              <p>Each change of a project, a plan or a key is kept here.</p>
            </Empty>
          ) : (
            <>
              <div class="panel scroll">
                <Table caption="Changes" columns={COLUMNS} rows={data} keyOf={({ id }) => id} />
              </div>
              {cursor && (
                <p class="more">
                  <button type="button" class="button" onClick={() => loadMore(cursor)}>
                    Show more
                  </button>
                </p>
              )}
            </>
          )
        }
      </Shown>
    </Page>
  );
};
