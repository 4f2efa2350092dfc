import { useEffect, useRef, useState } from 'preact/hooks';
import type { Api } from '../api/client.ts';
import { type ApiFailure, asFailure } from '../api/failure.ts';
import type { Key, List, Project } from '../api/types.ts';
import { Dialog } from './dialog.tsx';
import { moveFocus } from './move-focus.ts';
import { hrefOf } from './route.ts';
import { Search } from './search.tsx';
import { FailureBox } from './states.tsx';

export type Place = { title: string; href: string };

const isShortcut = ({ key, ctrlKey, metaKey }: KeyboardEvent): boolean =>
  key.toLowerCase() === 'k' && (ctrlKey || metaKey);

const placesOf = (projects: Project[]): Place[] =>
  projects.flatMap(({ id, name = id }) => [
    { title: `Keys of ${name}`, href: hrefOf('keys', { project: id }) },
    { title: `Usage of ${name}`, href: hrefOf('usage', { project: id }) },
  ]);

const isId = (text: string): boolean => /^\s*(?:req|key)_/.test(text);

/** Opens the request or the key of an id; false for any other text. */
const openId = async (api: Api, text: string): Promise<boolean> => {
  if (text.startsWith('req_')) {
    location.hash = hrefOf('requests', { id: text });
    return true;
  }
  if (!text.startsWith('key_')) return false;
  const { data } = await api.post<List<Key>>('keys/find', { id: text });
  location.hash = hrefOf('keys', { id: text, project: data[0]?.project });
  return true;
};

type GoToProps = { api: Api; pages: readonly Place[]; projects: Project[]; onClose: () => void };

const GoToDialog = ({ api, pages, projects, onClose }: GoToProps) => {
  const [text, setText] = useState('');
  const [failure, setFailure] = useState<ApiFailure>();
  const form = useRef<HTMLFormElement>(null);
  const words = text.toLowerCase().split(/\s+/);
  const found = [...pages, ...placesOf(projects)].filter(({ title }) =>
    words.every((word) => title.toLowerCase().includes(word)),
  );
  const go = async (event: Event) => {
    event.preventDefault();
    const [first] = found;
    setFailure(undefined);
    try {
      if (await openId(api, text.trim())) onClose();
      else if (first) {
        location.hash = first.href;
        onClose();
      }
    } catch (error) {
      setFailure(asFailure(error));
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Home and End are those of the field.
    if (!form.current || !event.key.startsWith('Arrow')) return;
    if (moveFocus(form.current, 'input, a', event.key)) event.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <form ref={form} class="go-to" onSubmit={go} onKeyDown={onKeyDown}>
        <Search
          label="Page, project, or id of a key or request"
          placeholder="Page, project, key_… or req_…"
          value={text}
          onChange={setText}
        />
        <ul>
          {found.slice(0, 12).map(({ title, href }) => (
            <li key={href}>
              <a href={href} onClick={onClose}>
                {title}
              </a>
            </li>
          ))}
        </ul>
        <p class="quiet" role="status">
          {found.length === 0 && !isId(text) ? 'No page or project has this name.' : ''}
        </p>
        {failure && <FailureBox failure={failure} />}
      </form>
    </Dialog>
  );
};

/** Ctrl+K or Cmd+K: to any page by a few letters, to a key or a request by its id. */
export const GoTo = (props: Omit<GoToProps, 'onClose'>) => {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      // A dialog that is open keeps what was typed.
      if (!isShortcut(event) || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return isOpen ? <GoToDialog {...props} onClose={() => setOpen(false)} /> : null;
};
