import { useState } from 'preact/hooks';
import type { Session } from './api/session.ts';
import type { NewKey } from './api/types.ts';
import { AuditPage } from './pages/audit.tsx';
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
import { SharedProvider } from './parts/context.ts';
import { GoTo } from './parts/go-to.tsx';
import { useLoad } from './parts/load.ts';
import { Navigation, placesFor } from './parts/navigation.tsx';
import { Notices } from './parts/notice.tsx';
import { useRoute } from './parts/route.ts';
import { SecretDialog } from './parts/secret-dialog.tsx';
import { Shown } from './parts/states.tsx';

const PAGES = {
  overview: OverviewPage,
  usage: UsagePage,
  requests: RequestsPage,
  models: ModelsPage,
  playground: PlaygroundPage,
  'my-usage': MyUsagePage,
  keys: KeysPage,
  plans: PlansPage,
  projects: ProjectsPage,
  members: MembersPage,
  audit: AuditPage,
};
type PageName = keyof typeof PAGES;

const isPage = (name: string): name is PageName => Object.hasOwn(PAGES, name);

const loadShared = async ({ api }: Session) => {
  const [projects, plans] = await Promise.all([api('projects.list', {}), api('plans.list', {})]);
  return { projects: projects.data, plans: plans.data };
};

/** Navigation, the page that the address names, and what lies above every page. */
export const Shell = ({ session }: { session: Session }) => {
  const route = useRoute();
  const loaded = useLoad('', () => loadShared(session));
  // A second one may arrive before the first is saved, from a page that was left.
  const [[secret], setSecrets] = useState<NewKey[]>([]);
  const name = isPage(route.page) ? route.page : 'overview';
  const PageBody = PAGES[name];
  const project = route.query.get('project') ?? undefined;
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <Navigation
        session={session}
        page={name}
        project={project}
        projects={loaded.value?.projects ?? []}
      />
      <main id="main" tabIndex={-1}>
        <Shown of={loaded}>
          {({ projects, plans }) => (
            <SharedProvider
              value={{
                session,
                route,
                projects,
                plans,
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
        pages={placesFor(project)}
        projects={loaded.value?.projects ?? (loaded.failure && [])}
      />
      {secret && (
        <SecretDialog
          key={secret.id}
          secret={secret}
          onDone={() => setSecrets(([, ...others]) => others)}
        />
      )}
      <Notices />
    </div>
  );
};
