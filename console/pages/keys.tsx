import { useEffect, useState } from 'preact/hooks';
import { asFailure } from '../api/failure.ts';
import type { Key, KeyUsage } from '../api/types.ts';
import { useShared } from '../parts/context.ts';
import { csvOf, saveFile } from '../parts/csv.ts';
import { Choices } from '../parts/field.tsx';
import { count, plural } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import { useLoad } from '../parts/load.ts';
import { announce } from '../parts/notice.tsx';
import { Page } from '../parts/page.tsx';
import { hrefOf, useRoute } from '../parts/route.ts';
import { Empty, FailureBox, Shown } from '../parts/states.tsx';
import { CreateKey, nameOf, RevokeKey, RotateKey } from './key-dialogs.tsx';
import { EditKey, MoveKey } from './key-settings.tsx';
import { type KeyAction, KeyTable } from './key-table.tsx';
import {
  findByHash,
  hashIn,
  type KeyRow,
  loadCounts,
  loadKeys,
  pathOf,
  withKey,
  withoutSecret,
} from './keys-data.ts';

type Opened = { kind: 'create' } | { kind: Exclude<KeyAction, 'pause' | 'resume'>; row: KeyRow };

const FILTERS = [
  { value: '', label: 'All' },
  { value: 'active', label: 'Active' },
  { value: 'paused', label: 'Paused' },
  { value: 'expired', label: 'Expired' },
  { value: 'revoked', label: 'Revoked' },
] as const;
type Filter = (typeof FILTERS)[number]['value'];

/** Wait after the last letter before a search is sent. */
const SEARCH_MS = 250;

const csvRow = ({ counts, models, ...key }: KeyRow) => ({
  ...key,
  models: models?.join(' '),
  used: counts?.used,
  period: counts?.period,
  last_used_at: counts?.last_used_at,
});

/** Settings, API keys: the keys of one project. */
export const KeysPage = () => {
  const { project, projects } = useShared();
  const { query } = useRoute();
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
  const found = query.get('q') ?? '';
  return <ProjectKeys key={`${chosen} ${found}`} project={chosen} search={found} />;
};

const Search = ({ value, onSearch }: { value: string; onSearch: (text: string) => void }) => {
  const { session } = useShared();
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    const timer = setTimeout(() => onSearch(text), SEARCH_MS);
    return () => clearTimeout(timer);
  }, [text, onSearch]);
  /** A pasted key is looked for in every project, by its hash. */
  const find = async (typed: string) => {
    const hash = await hashIn(typed);
    if (hash === undefined) return;
    const key = await findByHash(session.api, hash).catch((error) => {
      announce(asFailure(error).message);
      return undefined;
    });
    if (key) location.hash = hrefOf('keys', { project: key.project, q: key.id });
    else announce('No key has this secret.');
  };
  return (
    <label class="search">
      <Icon name="search" />
      <span class="sr-only">Search keys</span>
      <input
        type="search"
        placeholder="Name or id, or paste a key"
        value={text}
        onInput={({ currentTarget }) => {
          void find(currentTarget.value);
          currentTarget.value = withoutSecret(currentTarget.value);
          setText(currentTarget.value);
        }}
      />
    </label>
  );
};

const useKeys = (project: string, q: string, status: Filter) => {
  const { session } = useShared();
  const keys = useLoad(`${project} ${status} ${q}`, () =>
    loadKeys(session.api, project, { q, status }),
  );
  const counts = useLoad(project, () => loadCounts(session.api, project));
  const more = async (cursor: string) => {
    const next = await loadKeys(session.api, project, { q, status, cursor });
    keys.change(({ data }) => ({ ...next, data: [...data, ...next.data] }));
  };
  const change = (row: KeyRow) =>
    keys.change(({ data, ...rest }) => ({ ...rest, data: withKey(data, row) }));
  return { keys, counts, more, change };
};

const withCounts = (rows: KeyRow[], counts: Map<string, KeyUsage> | undefined): KeyRow[] =>
  rows.map((row) => ({ ...row, counts: row.counts ?? counts?.get(row.id) }));

const ProjectKeys = ({ project, search }: { project: string; search: string }) => {
  const { session, plans } = useShared();
  const mayChange = session.mayChange(project);
  const [q, setQ] = useState(search);
  const [status, setStatus] = useState<Filter>('');
  const { keys, counts, more, change } = useKeys(project, q, status);
  const [opened, setOpened] = useState<Opened>();
  const onClose = () => setOpened(undefined);
  const onAction = (action: KeyAction, row: KeyRow) => {
    if (action === 'pause' || action === 'resume') void pauseOrResume(action, row);
    else setOpened({ kind: action, row });
  };
  const pauseOrResume = async (action: 'pause' | 'resume', row: KeyRow) => {
    try {
      change(await session.api.post<Key>(pathOf(project, row.id, action)));
      const paused = `Paused “${nameOf(row)}”: its requests get 401 within 15 seconds.`;
      announce(action === 'pause' ? paused : `“${nameOf(row)}” works again within 15 seconds.`);
    } catch (error) {
      announce(asFailure(error).message);
    }
  };
  const create = (
    <button
      type="button"
      class="button is-primary"
      disabled={!mayChange || plans.length === 0}
      onClick={() => setOpened({ kind: 'create' })}
    >
      Create key
    </button>
  );
  const isSearch = q !== '' || status !== '';
  const rows = withCounts(keys.value?.data ?? [], counts.value);
  const size = keys.value
    ? ` · ${plural(rows.length, 'key')}${keys.value.next_cursor ? ' shown' : ''}`
    : '';
  return (
    <Page title="API keys" subtitle={`Project ${project}${size}`} actions={create}>
      <div class="toolbar">
        <Search value={q} onSearch={setQ} />
        <Choices
          legend="Status"
          isLegendHidden
          value={status}
          options={FILTERS}
          onChange={setStatus}
        />
        <button
          type="button"
          class="button push"
          disabled={rows.length === 0}
          onClick={() => saveFile(`keys-${project}.csv`, csvOf(rows.map(csvRow)))}
        >
          Export CSV
        </button>
      </div>
      {counts.failure && <FailureBox failure={counts.failure} onRetry={counts.reload} />}
      <Shown of={keys}>
        {({ next_cursor: cursor }) => {
          if (rows.length > 0 || cursor) {
            return (
              <>
                <div class="panel">
                  <KeyTable rows={rows} mayChange={mayChange} onAction={onAction} />
                </div>
                {cursor && <More size={rows.length} onMore={() => more(cursor)} />}
              </>
            );
          }
          if (isSearch) {
            const clear = () => {
              setQ('');
              setStatus('');
            };
            return <NoMatch text={q} onClear={clear} />;
          }
          return (
            <Empty icon="keys" title="No keys in this project">
              <p>A key lets one program use the models of a plan, and counts what it uses.</p>
              {create}
            </Empty>
          );
        }}
      </Shown>
      {opened && <OpenedDialog {...{ opened, project, onClose, onChanged: change }} />}
    </Page>
  );
};

const NoMatch = ({ text, onClear }: { text: string; onClear: () => void }) => (
  <Empty icon="search" title={text ? `No key matches “${text}”` : 'No such keys'}>
    <button type="button" class="button" onClick={onClear}>
      Clear
    </button>
  </Empty>
);

const More = ({ size, onMore }: { size: number; onMore: () => Promise<void> }) => {
  const [isBusy, setBusy] = useState(false);
  const load = () => {
    setBusy(true);
    onMore()
      .catch((error) => announce(asFailure(error).message))
      .finally(() => setBusy(false));
  };
  return (
    <p class="more">
      {count(size)} keys shown.{' '}
      <button type="button" class="button" disabled={isBusy} onClick={load}>
        {isBusy ? 'Loading…' : 'Show more'}
      </button>
    </p>
  );
};

type DialogProps = {
  opened: Opened;
  project: string;
  onClose: () => void;
  onChanged: (row: KeyRow) => void;
};

const DIALOGS = { rotate: RotateKey, revoke: RevokeKey, edit: EditKey, move: MoveKey };

const OpenedDialog = ({ opened, ...props }: DialogProps) => {
  if (opened.kind === 'create') return <CreateKey {...props} />;
  const KeyDialog = DIALOGS[opened.kind];
  return <KeyDialog {...props} row={opened.row} />;
};
