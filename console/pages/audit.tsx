import type { AuditEntry } from '../api/types.ts';
import { Clip, Empty, Instant, Page, Shown } from '../parts/blocks.tsx';
import { useShared } from '../parts/context.ts';
import { useFilters } from '../parts/filters.ts';
import { More, usePaged } from '../parts/paged.tsx';
import { FilterSearch } from '../parts/search.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { NUMBERS } from './limit-fields.tsx';

const text = (value: unknown): string => {
  if (value === undefined || value === null) return '–';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

const LABELS: Record<string, string> = Object.fromEntries(
  NUMBERS.map(({ name, label }) => [name, label.toLowerCase()]),
);

/** The fields that differ: `quota 10 → 20`; what was created is named by its ids. */
const changesOf = ({ before, after = {} }: AuditEntry): string[] => {
  if (!before) return [];
  return Object.keys({ ...before, ...after })
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map(
      (name) =>
        `${LABELS[name] ?? name.replaceAll('_', ' ')} ${text(before[name])} → ${text(after[name])}`,
    );
};

/** An ARN is long, and its end names the person. */
export const nameInAudit = (who: string): string => who.slice(who.lastIndexOf('/') + 1);

export const Who = ({ name }: { name: string }) => <Clip text={nameInAudit(name)} title={name} />;

const COLUMNS: Column<AuditEntry>[] = [
  { title: 'Time', cell: ({ at }) => <Instant at={at} />, sort: ({ at }) => at },
  {
    title: 'Who',
    cell: ({ who }) => <Who name={who} />,
    sort: ({ who }) => nameInAudit(who),
  },
  { title: 'Action', cell: ({ action }) => <code>{action}</code>, sort: ({ action }) => action },
  {
    title: 'What',
    cell: ({ project, plan, key, member }) => (
      <span class="mono clip">{[project, key ?? plan ?? member].filter(Boolean).join(' / ')}</span>
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
    sort: ({ outcome }) => outcome,
  },
];

export const AuditPage = () => {
  const { session, project } = useShared();
  const { values, bind } = useFilters('audit');
  const { who } = values;
  const audit = usePaged<AuditEntry>(`${project} ${who}`, (cursor) =>
    session.api('audit.list', {}, { project, who, cursor }),
  );
  return (
    <Page title="Audit" subtitle="Who changed what, the last 90 days.">
      <div class="toolbar">
        <FilterSearch label="Part of a name" placeholder="Who" {...bind('who')} />
      </div>
      <Shown of={audit}>
        {({ data, next_cursor: cursor }) => (
          <Table
            look="scroll"
            caption="Changes"
            columns={COLUMNS}
            rows={data}
            keyOf={({ id }) => id}
            empty={
              !cursor && (
                <Empty icon="audit" title="No changes">
                  <p>Each change of a project, a plan, a key or a member is kept here.</p>
                </Empty>
              )
            }
          />
        )}
      </Shown>
      <More of={audit} />
    </Page>
  );
};
