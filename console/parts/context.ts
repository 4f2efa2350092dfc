import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Session } from '../api/session.ts';
import type { NewKey, Overview, Plan, Project } from '../api/types.ts';
import type { Route } from './route.ts';

/** What every page may read; loaded once, and again after a change. */
export type Shared = {
  session: Session;
  route: Route;
  projects: Project[];
  plans: Plan[];
  /** What the first page got together with the others, for which project, and when. */
  overview: { project: string | undefined; value: Overview; at: number } | undefined;
  /** The project that the pages show; undefined: all. */
  project: string | undefined;
  reloadShared: () => void;
  /** Shows a new key, this once, above every page. */
  showSecret: (key: NewKey) => void;
};

const SharedContext = createContext<Shared | undefined>(undefined);
export const SharedProvider = SharedContext.Provider;

/** @throws Error outside the shell */
export const useShared = (): Shared => {
  const shared = useContext(SharedContext);
  if (!shared) throw new Error('The shell provides what pages share.');
  return shared;
};
