import { useEffect } from 'preact/hooks';
import { useBriefly } from './briefly.ts';

const SHOWN_MS = 6_000;
let listener: (text: string) => void = () => {};

/** Reports the result of an action, on the screen and to screen readers. */
export const announce = (text: string): void => listener(text);

export const Notices = () => {
  const [text = '', show] = useBriefly<string>(SHOWN_MS);
  useEffect(() => {
    listener = show;
  }, [show]);
  return (
    <div class={text === '' ? 'notice' : 'notice is-shown'} aria-live="polite" role="status">
      {text}
    </div>
  );
};
