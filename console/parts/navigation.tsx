import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Session } from '../api/session.ts';
import type { Project } from '../api/types.ts';
import { settings, version } from '../settings.ts';
import { Button } from './blocks.tsx';
import type { Place } from './go-to.tsx';
import { Icon, type IconName, Logo } from './icons.tsx';
import { hrefOf } from './route.ts';

const NAME = 'theme';
const DARK = matchMedia('(prefers-color-scheme: dark)');

type Theme = 'light' | 'dark';

/** The reader's choice; undefined: the theme of the system. */
const readChoice = (): Theme | undefined => {
  const chosen = localStorage.getItem(NAME);
  return chosen === 'light' || chosen === 'dark' ? chosen : undefined;
};

const useSystemTheme = (): Theme => {
  const [isDark, setDark] = useState(DARK.matches);
  useEffect(() => {
    const onChange = () => setDark(DARK.matches);
    DARK.addEventListener('change', onChange);
    return () => DARK.removeEventListener('change', onChange);
  }, []);
  return isDark ? 'dark' : 'light';
};

const ThemeButton = () => {
  const [chosen, setChosen] = useState(readChoice);
  const system = useSystemTheme();
  useEffect(() => {
    document.documentElement.style.colorScheme = chosen ?? '';
  }, [chosen]);
  const next = (chosen ?? system) === 'dark' ? 'light' : 'dark';
  return (
    <Button
      look="is-icon"
      aria-label={`Use the ${next} theme`}
      onClick={() => {
        localStorage.setItem(NAME, next);
        setChosen(next);
      }}
    >
      <Icon name="sun" />
    </Button>
  );
};

type Entry = {
  page: string;
  title: string;
  icon: IconName;
  body: ComponentType;
  /** Not for members of a project: the page shows every project. */
  isGlobal?: boolean;
};
export type Group = { title: string; entries: readonly Entry[] };

/** The pages as places to go to. */
export const placesFor = (entries: readonly Entry[], project: string | undefined): Place[] =>
  entries.map(({ page, title }) => ({ title, href: hrefOf(page, { project }) }));

type NavigationProps = {
  groups: readonly Group[];
  session: Session;
  page: string;
  project: string | undefined;
  projects: Project[];
};

type LinkProps = Omit<Entry, 'body'> & { isCurrent: boolean; project: string | undefined };

const ProjectSelect = ({
  page,
  project,
  projects,
}: Omit<NavigationProps, 'groups' | 'session'>) => (
  <label class="project">
    <span class="sr-only">Project</span>
    <select
      value={project ?? (page === 'keys' ? projects[0]?.id : '') ?? ''}
      onChange={({ currentTarget }) => {
        location.hash = hrefOf(page, { project: currentTarget.value });
      }}
    >
      {page !== 'keys' && <option value="">All projects</option>}
      {projects.map(({ id, name }) => (
        <option key={id} value={id}>
          {name ? `${name} (${id})` : id}
        </option>
      ))}
    </select>
  </label>
);

/** The link of the page that is shown; on narrow screens it is scrolled into sight. */
const PageLink = ({ page, title, icon, isCurrent, project }: LinkProps) => {
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (isCurrent) link.current?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [isCurrent]);
  return (
    <a
      ref={link}
      href={hrefOf(page, { project })}
      aria-current={isCurrent ? 'page' : undefined}
      title={title}
    >
      <Icon name={icon} />
      <span>{title}</span>
    </a>
  );
};

/** The pages, in two groups, and who is signed in. */
export const Navigation = ({ groups, session, ...place }: NavigationProps) => (
  <nav class="nav" aria-label="Pages">
    <p class="brand">
      <Logo />
      <span>Model router</span>
    </p>
    <ProjectSelect {...place} />
    <div class="nav-groups">
      {groups.map(({ title, entries }) => (
        <div key={title} class="nav-group">
          <h2>{title}</h2>
          <ul>
            {entries
              .filter(({ isGlobal }) => !isGlobal || session.seesAll)
              .map((entry) => (
                <li key={entry.page}>
                  <PageLink
                    {...entry}
                    isCurrent={entry.page === place.page}
                    project={place.project}
                  />
                </li>
              ))}
          </ul>
        </div>
      ))}
    </div>
    <div class="nav-foot">
      <ThemeButton />
      <p class="quiet">
        {settings.stage} · {version}
        {session.signOut && (
          <button type="button" class="link" onClick={session.signOut}>
            Sign out
          </button>
        )}
        {session.person && (
          <>
            <br />
            <span class="clip">{session.person}</span>
          </>
        )}
      </p>
    </div>
  </nav>
);
