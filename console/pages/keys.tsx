import type { Key, PagedList } from '../api/types.ts';
import { Button, Empty, Page, Shown } from '../parts/blocks.tsx';
import { useShared } from '../parts/context.ts';
import { csvOf, saveFile } from '../parts/csv.ts';
import { Choices } from '../parts/field.tsx';
import { useFilters } from '../parts/filters.ts';
import { plural } from '../parts/format.ts';
import { useLatest } from '../parts/latest.ts';
import { announce } from '../parts/notice.tsx';
import { More, usePaged } from '../parts/paged.tsx';
import { hrefOf } from '../parts/route.ts';
import { FilterSearch, withoutSecret } from '../parts/search.tsx';
import { useKeyActions } from './key-actions.tsx';
import { KeyPage } from './key-page.tsx';
import { KeyTable } from './key-table.tsx';
import { countKeys, findPasted, type KeyRow, loadRows, loadSpend, withKey } from './keys-data.ts';

const csvRow = ({ counts, models, pending: _, ...key }: KeyRow) => ({
  ...key,
  models: models?.join(' '),
  used: counts?.used,
  period: counts?.period,
  last_used_at: counts?.last_used_at,
});

export const KeysPage = () => {
  const { project, projects, route } = useShared();
  const { id } = route;
  const chosen = project ?? projects[0]?.id;
  if (chosen === undefined) {
    return (
      <Page title="API keys">
        <Empty icon="projects" title="No project yet">
          <p>A key belongs to a project.</p>
          <a class="button" href={hrefOf('projects')}>
            Projects
          </a>
        </Empty>
      </Page>
    );
  }
  if (id !== undefined) return <KeyPage key={`${chosen} ${id}`} project={chosen} id={id} />;
  return <ProjectKeys key={chosen} project={chosen} />;
};

/** A pasted key is looked for in every project, by its hash. */
const KeySearch = (props: { value: string; onChange: (text: string) => void }) => {
  const { session } = useShared();
  const { follow } = useLatest();
  const keep = (typed: string) => {
    const show = (found: Key | 'none' | undefined) => {
      if (found === 'none') announce('No key has this secret.');
      else if (found) location.hash = hrefOf('keys', { project: found.project, q: found.id });
    };
    follow(findPasted(session.api, typed), show, ({ message }) => announce(message));
    return withoutSecret(typed);
  };
  return (
    <FilterSearch
      {...props}
      keep={keep}
      label="Search keys"
      placeholder="Name or id, or paste a key"
    />
  );
};

const useKeys = (project: string, q: string, status: string) => {
  const { api } = useShared().session;
  /** What takes longer than the rows, which are shown before it. */
  const complete = async ({ data, next_cursor: next }: PagedList<KeyRow>, isFirst: boolean) => {
    const [spend, total] = await Promise.all([
      loadSpend(api, project, data),
      isFirst && next ? countKeys(api, project, { q, status }) : undefined,
    ]);
    const ids = new Set(data.map(({ id }) => id));
    keys.change((list) => ({
      ...list,
      ...(total !== undefined && { total }),
      data: list.data.map((row) =>
        ids.has(row.id) ? { ...row, spend: spend.get(row.id) ?? 0 } : row,
      ),
    }));
  };
  const keys = usePaged<KeyRow>(`${project} ${status} ${q}`, async (cursor) => {
    const page = await loadRows(api, project, { q, status, cursor });
    // The cells stay empty where it fails.
    if (page.data.length > 0) complete(page, cursor === undefined).catch(() => undefined);
    return page;
  });
  const change = (row: KeyRow) =>
    keys.change(({ data, ...rest }) => ({ ...rest, data: withKey(data, row) }));
  return { keys, rows: keys.value?.data ?? [], change };
};

const ProjectKeys = ({ project }: { project: string }) => {
  const { session, plans } = useShared();
  const { values, change: filter, bind } = useFilters('keys');
  const { q, status } = values;
  const { keys, rows, change } = useKeys(project, q, status);
  const actions = useKeyActions(project, change);
  const create = session.mayChange(project) && (
    <Button look="is-primary" disabled={plans.length === 0} onClick={actions.create}>
      Create key
    </Button>
  );
  const clear = () => filter({ q: '', status: '' });
  const size = keys.value ? ` · ${plural(keys.value.total ?? rows.length, 'key')}` : '';
  return (
    <Page title="API keys" subtitle={`Project ${project}${size}`} actions={create}>
      <div class="toolbar">
        <KeySearch {...bind('q')} />
        <Choices legend="Status" isLegendHidden {...bind('status')} />
        <Button
          look="push"
          disabled={rows.length === 0}
          onClick={() => saveFile(`keys-${project}.csv`, csvOf(rows.map(csvRow)))}
        >
          Export CSV
        </Button>
      </div>
      <Shown of={keys}>
        {({ next_cursor: cursor }) => {
          if (rows.length > 0 || cursor) {
            return <KeyTable rows={rows} actionsOf={actions.actionsOf} />;
          }
          if (q !== '' || status !== '') return <NoMatch text={q} onClear={clear} />;
          return (
            <Empty icon="keys" title="No keys in this project">
              <p>A key lets one program use the models of a plan, and counts what it uses.</p>
              {create}
            </Empty>
          );
        }}
      </Shown>
      <More of={keys} />
      {actions.dialog}
    </Page>
  );
};

const NoMatch = ({ text, onClear }: { text: string; onClear: () => void }) => (
  <Empty icon="search" title={text ? `No key matches “${text}”` : 'No such keys'}>
    <Button onClick={onClear}>Clear</Button>
  </Empty>
);
