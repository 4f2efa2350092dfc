import { useState } from 'preact/hooks';
import type { Session } from './api/session.ts';
import type { NewKey } from './api/types.ts';
import { AuditPage } from './pages/audit.tsx';
import { BudgetsPage } from './pages/budgets.tsx';
import { IncidentsPage } from './pages/incidents.tsx';
import { KeysPage } from './pages/keys.tsx';
import { MembersPage } from './pages/members.tsx';
import { ModelsPage } from './pages/models.tsx';
import { MyUsagePage } from './pages/my-usage.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { PlansPage } from './pages/plans.tsx';
import { PlaygroundPage } from './pages/playground.tsx';
import { ProjectsPage } from './pages/projects.tsx';
import { RequestsPage } from './pages/requests.tsx';
import { UsagePage } from './pages/usage.tsx';
import { Shown } from './parts/blocks.tsx';
import { SharedProvider } from './parts/context.ts';
import { unknownFilters } from './parts/filters.ts';
import { GoTo } from './parts/go-to.tsx';
import { useLoad } from './parts/load.ts';
import { type Group, Navigation, placesFor } from './parts/navigation.tsx';
import { Notices } from './parts/notice.tsx';
import { useRoute } from './parts/route.ts';
import { NewKeyDialog } from './parts/secret-dialog.tsx';

const GROUPS: readonly Group[] = [
  {
    title: 'Activity',
    entries: [
      { page: 'overview', title: 'Overview', icon: 'overview', body: OverviewPage },
      { page: 'incidents', title: 'Incidents', icon: 'alert', body: IncidentsPage, isGlobal: true },
      { page: 'usage', title: 'Usage', icon: 'usage', body: UsagePage },
      { page: 'requests', title: 'Requests', icon: 'requests', body: RequestsPage },
      { page: 'models', title: 'Models', icon: 'models', body: ModelsPage, isGlobal: true },
      { page: 'playground', title: 'Playground', icon: 'playground', body: PlaygroundPage },
      { page: 'my-usage', title: 'My usage', icon: 'person', body: MyUsagePage },
    ],
  },
  {
    title: 'Settings',
    entries: [
      { page: 'keys', title: 'API keys', icon: 'keys', body: KeysPage },
      { page: 'plans', title: 'Plans', icon: 'plans', body: PlansPage },
      { page: 'budgets', title: 'Budgets', icon: 'budgets', body: BudgetsPage, isGlobal: true },
      { page: 'projects', title: 'Projects', icon: 'projects', body: ProjectsPage },
      { page: 'members', title: 'Members', icon: 'members', body: MembersPage, isGlobal: true },
      { page: 'audit', title: 'Audit', icon: 'audit', body: AuditPage },
    ],
  },
];
const OVERVIEW = { page: 'overview', body: OverviewPage };
const ENTRIES = GROUPS.flatMap(({ entries }) => entries);

/** What every page needs; the first page gets all that it shows with it, in one response. */
const loadShared = async ({ api }: Session, isOverview: boolean, project: string | undefined) => {
  if (isOverview) {
    const overview = await api('overview', {}, { project });
    return { ...overview, overview: { project, value: overview, at: Date.now() } };
  }
  const [projects, plans] = await Promise.all([api('projects.list', {}), api('plans.list', {})]);
  return { projects: projects.data, plans: plans.data, overview: undefined };
};

/** What the address asks for and the page has not. */
const UnknownFilters = ({ names }: { names: string[] }) =>
  names.length === 0 ? null : (
    <p class="callout" role="alert">
      The address has {names.length === 1 ? 'a filter' : 'filters'} that this page does not know:{' '}
      <code>{names.join(', ')}</code>. The page shows more than the address asks for.
    </p>
  );

/** Navigation, the page that the address names, and what lies above every page. */
export const Shell = ({ session }: { session: Session }) => {
  const route = useRoute();
  // A second one may arrive before the first is saved, from a page that was left.
  const [[secret], setSecrets] = useState<NewKey[]>([]);
  const { page: name, body: PageBody } =
    ENTRIES.find(({ page }) => page === route.page) ?? OVERVIEW;
  const project = route.query.get('project') ?? undefined;
  const loaded = useLoad('', () => loadShared(session, name === 'overview', project));
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <Navigation
        groups={GROUPS}
        session={session}
        page={name}
        project={project}
        projects={loaded.value?.projects ?? []}
      />
      <main id="main" tabIndex={-1}>
        <UnknownFilters names={unknownFilters({ ...route, page: name })} />
        <Shown of={loaded}>
          {({ projects, plans, overview }) => (
            <SharedProvider
              value={{
                session,
                route,
                projects,
                plans,
                overview,
                project,
                reloadShared: loaded.reload,
                showSecret: (key) => setSecrets((others) => [...others, key]),
              }}
            >
              <PageBody />
            </SharedProvider>
          )}
        </Shown>
      </main>
      <GoTo
        api={session.api}
        pages={placesFor(ENTRIES, project)}
        projects={loaded.value?.projects ?? (loaded.failure && [])}
      />
      {secret && (
        <NewKeyDialog
          key={secret.id}
          secret={secret}
          onDone={() => setSecrets(([, ...others]) => others)}
        />
      )}
      <Notices />
    </div>
  );
};
