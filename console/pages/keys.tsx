import { useState } from 'preact/hooks';
import { useShared } from '../parts/context.ts';
import { csvOf, saveFile } from '../parts/csv.ts';
import { Choices } from '../parts/field.tsx';
import { count, plural } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import { useLoad } from '../parts/load.ts';
import { Page } from '../parts/page.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { CreateKey, RevokeKey, RotateKey } from './key-dialogs.tsx';
import { KeyTable } from './key-table.tsx';
import { isEnded, type KeyRow, loadKeys, matches, withKey, withoutSecret } from './keys-data.ts';

type Opened = { kind: 'create' } | { kind: 'rotate' | 'revoke'; row: KeyRow };

const FILTERS = [
  { value: 'all', label: 'All' },
  { value: 'active', label: 'Active' },
  { value: 'ended', label: 'Ended' },
] as const;
type Filter = (typeof FILTERS)[number]['value'];

const isShown = (row: KeyRow, filter: Filter): boolean =>
  filter === 'all' || isEnded(row) === (filter === 'ended');

const csvRow = ({ counts, ...key }: KeyRow) => ({
  ...key,
  used: counts?.used,
  quota: counts?.quota,
  period: counts?.period,
  last_used_at: counts?.last_used_at,
});

const WHAT = 'A key lets one program use the models of a plan, and counts what it uses.';

/** Settings, API keys: the keys of one project. */
export const KeysPage = () => {
  const { session, project, projects } = useShared();
  const chosen = project ?? projects[0]?.id;
  if (chosen === undefined) {
    return (
      <Page title="API keys">
        <Empty icon="projects" title="No project">
          <p>A key belongs to a project.</p>
        </Empty>
      </Page>
    );
  }
  return <ProjectKeys key={chosen} project={chosen} mayChange={session.mayChange(chosen)} />;
};

const subtitleOf = (project: string, rows: KeyRow[] | undefined): string => {
  if (!rows) return `Project ${project}`;
  const ended = rows.filter(isEnded).length;
  return `Project ${project} · ${count(rows.length - ended)} active, ${count(ended)} ended`;
};

const ProjectKeys = ({ project, mayChange }: { project: string; mayChange: boolean }) => {
  const { session, plans } = useShared();
  const keys = useLoad(project, () => loadKeys(session.api, project));
  const [search, setSearch] = useState('');
  const [filter, setFilter] = useState<Filter>('all');
  const [opened, setOpened] = useState<Opened>();
  const onChanged = (row: KeyRow) => keys.change((rows) => withKey(rows, row));
  const onClose = () => setOpened(undefined);
  const openCreate = () => setOpened({ kind: 'create' });
  const create = (
    <button
      type="button"
      class="button is-primary"
      disabled={!mayChange || plans.length === 0}
      onClick={openCreate}
    >
      Create key
    </button>
  );
  return (
    <Page title="API keys" subtitle={subtitleOf(project, keys.value)} actions={create}>
      <Shown of={keys}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty icon="keys" title="No keys in this project">
              <p>{WHAT}</p>
              {create}
            </Empty>
          ) : (
            <>
              <div class="toolbar">
                <label class="search">
                  <Icon name="search" />
                  <span class="sr-only">Search keys</span>
                  <input
                    type="search"
                    placeholder="Name or id, or paste a key"
                    value={search}
                    onInput={({ currentTarget }) => {
                      currentTarget.value = withoutSecret(currentTarget.value);
                      setSearch(currentTarget.value);
                    }}
                  />
                </label>
                <Choices
                  legend="Show"
                  isLegendHidden
                  value={filter}
                  options={FILTERS}
                  onChange={setFilter}
                />
                <button
                  type="button"
                  class="button push"
                  onClick={() => saveFile(`keys-${project}.csv`, csvOf(rows.map(csvRow)))}
                >
                  Export CSV
                </button>
              </div>
              <FoundKeys
                rows={rows.filter((row) => isShown(row, filter) && matches(row, search))}
                search={search}
                onClear={() => {
                  setSearch('');
                  setFilter('all');
                }}
                mayChange={mayChange}
                onOpen={(kind, row) => setOpened({ kind, row })}
              />
            </>
          )
        }
      </Shown>
      {opened?.kind === 'create' && <CreateKey {...{ project, onClose, onChanged }} />}
      {opened?.kind === 'rotate' && (
        <RotateKey {...{ project, onClose, onChanged, row: opened.row }} />
      )}
      {opened?.kind === 'revoke' && (
        <RevokeKey {...{ project, onClose, onChanged, row: opened.row }} />
      )}
    </Page>
  );
};

type FoundProps = {
  rows: KeyRow[];
  search: string;
  onClear: () => void;
  mayChange: boolean;
  onOpen: (kind: 'rotate' | 'revoke', row: KeyRow) => void;
};

/** Rows that are drawn at once: a table of thousands blocks the page. */
const PAGE_SIZE = 100;

const FoundKeys = ({ rows, search, onClear, ...actions }: FoundProps) => {
  const [limit, setLimit] = useState(PAGE_SIZE);
  if (rows.length === 0) {
    return (
      <Empty icon="search" title={search ? `No key matches “${search}”` : 'No such keys'}>
        <button type="button" class="button" onClick={onClear}>
          Clear
        </button>
      </Empty>
    );
  }
  return (
    <>
      <div class="panel">
        <KeyTable rows={rows.slice(0, limit)} {...actions} />
      </div>
      {rows.length > limit && (
        <p class="more">
          {plural(limit, 'key')} of {count(rows.length)} shown.{' '}
          <button type="button" class="button" onClick={() => setLimit(limit + PAGE_SIZE)}>
            Show more
          </button>
        </p>
      )}
    </>
  );
};
