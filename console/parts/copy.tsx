import { useRef } from 'preact/hooks';
import { useBriefly } from './briefly.ts';
import { Icon } from './icons.tsx';

const SHOWN_MS = 2_000;
const RESULTS = { copied: 'Copied', selected: 'Press Ctrl+C' };

/** Copies a text; where the clipboard denies it, selects the text instead. */
const CopyButton = ({ text, label }: { text: string; label: string }) => {
  const [result, setResult] = useBriefly<keyof typeof RESULTS>(SHOWN_MS);
  const button = useRef<HTMLButtonElement>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setResult('copied');
    } catch {
      const source = button.current?.closest('[data-copied]')?.querySelector('code');
      if (source) getSelection()?.selectAllChildren(source);
      setResult('selected');
    }
  };
  return (
    <button ref={button} type="button" class="button is-small" aria-label={label} onClick={copy}>
      <Icon name={result === 'copied' ? 'check' : 'copy'} />
      <span aria-live="polite">{result ? RESULTS[result] : 'Copy'}</span>
    </button>
  );
};

/** An id within a line, with a button that copies it. */
export const Copied = ({ text, label }: { text: string; label: string }) => (
  <span class="copied" data-copied>
    <code class="quiet">{text}</code>
    <CopyButton text={text} label={`Copy ${label}`} />
  </span>
);

/** A text to copy, in one line or as a block. */
export const Copyable = ({
  text,
  label,
  isBlock = false,
}: {
  text: string;
  label: string;
  isBlock?: boolean;
}) => (
  <div class={isBlock ? 'copyable is-block' : 'copyable'} data-copied>
    <pre>
      <code>{text}</code>
    </pre>
    <CopyButton text={text} label={`Copy ${label}`} />
  </div>
);
