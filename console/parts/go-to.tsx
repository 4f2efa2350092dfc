import { useEffect, useRef, useState } from 'preact/hooks';
import type { Api } from '../api/client.ts';
import type { ApiFailure } from '../api/failure.ts';
import type { Project } from '../api/types.ts';
import { FailureBox } from './blocks.tsx';
import { Dialog } from './dialog.tsx';
import { useLatest } from './latest.ts';
import { moveFocus } from './move-focus.ts';
import { hrefOf } from './route.ts';
import { Search, withoutSecret } from './search.tsx';

export type Place = { title: string; href: string };

const isShortcut = ({ key, ctrlKey, metaKey }: KeyboardEvent): boolean =>
  key.toLowerCase() === 'k' && (ctrlKey || metaKey);

const placesOf = (projects: Project[]): Place[] =>
  projects.flatMap(({ id, name = id }) => [
    { title: `Keys of ${name}`, href: hrefOf('keys', { project: id }) },
    { title: `Usage of ${name}`, href: hrefOf('usage', { project: id }) },
  ]);

const isOfRequest = (text: string): boolean => /^\s*(?:req_|chatcmpl-|msg_|resp_)/.test(text);
const isId = (text: string): boolean => isOfRequest(text) || /^\s*(?:key|mrk)_/.test(text);

/** The address of a request or a key by its id, of a key also by its beginning; undefined for any other text. @throws ApiFailure */
const hrefOfId = async (api: Api, text: string): Promise<string | undefined> => {
  if (isOfRequest(text)) return hrefOf('requests', { id: text });
  if (!isId(text)) return undefined;
  const wanted = text.startsWith('mrk_') ? { start: text } : { id: text };
  const { data } = await api('keys.find', {}, wanted);
  return hrefOf('keys', { id: data[0]?.id, project: data[0]?.project });
};

const NONE = 'No page or project has this name.';

type GoToProps = {
  api: Api;
  pages: readonly Place[];
  /** Undefined until they are loaded. */
  projects: Project[] | undefined;
  onClose: () => void;
};

const GoToDialog = ({ api, pages, projects, onClose }: GoToProps) => {
  const [text, setText] = useState('');
  const [failure, setFailure] = useState<ApiFailure>();
  const { follow, drop } = useLatest();
  const form = useRef<HTMLFormElement>(null);
  const words = text.toLowerCase().split(/\s+/);
  const found = [...pages, ...placesOf(projects ?? [])].filter(({ title }) =>
    words.every((word) => title.toLowerCase().includes(word)),
  );
  const type = (typed: string) => {
    drop();
    setFailure(undefined);
    setText(withoutSecret(typed));
  };
  const go = (event: Event) => {
    event.preventDefault();
    const show = (href = found[0]?.href) => {
      if (href === undefined) return;
      location.hash = href;
      onClose();
    };
    follow(hrefOfId(api, text.trim()), show, setFailure);
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
          label="Page, project, key, or id of a request"
          placeholder="Page, project, mrk_…, key_… or req_…"
          value={text}
          onChange={type}
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
          {found.length === 0 && !isId(text) ? NONE : ''}
          {projects ? '' : ' Projects are still loading.'}
        </p>
        {failure && <FailureBox failure={failure} />}
      </form>
    </Dialog>
  );
};

/** Ctrl+K or Cmd+K: to any page by a few letters, to a key or a request by its id, to a key by its beginning. */
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
