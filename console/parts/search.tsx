import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';

/** Wait after the last letter before a search is sent. */
const SETTLED_MS = 250;

/** A text once it has not changed for a while. */
export const useSettled = (text: string): string => {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
};

/** A typed text that becomes a filter of the address once it has not changed for a while, and follows it. */
const useTyped = (
  value: string,
  onSettled: (text: string) => void,
): [typed: string, setTyped: (text: string) => void] => {
  const [typed, setTyped] = useState(value);
  const settled = useSettled(typed);
  const seen = useRef({ value, settled });
  useEffect(() => {
    const { value: before, settled: sent } = seen.current;
    seen.current = { value, settled };
    // A link has changed the address: what was typed before is over.
    if (value !== before && value !== settled) setTyped(value);
    else if (settled !== sent && settled !== value) onSettled(settled);
  }, [value, settled, onSettled]);
  return [typed, setTyped];
};

/** A pasted key is reduced to the beginning that lists show before it reaches the state of the page. */
export const withoutSecret = (text: string): string => text.replace(/(mrk_live_\w{4})\w+/, '$1');

type SearchProps = {
  label: string;
  placeholder: string;
  value: string;
  onChange: (text: string) => void;
  /** What is kept of a typed text. @default all of it */
  keep?: (typed: string) => string;
};

export const Search = ({ label, placeholder, value, onChange, keep }: SearchProps) => (
  <label class="search">
    <Icon name="search" />
    <span class="sr-only">{label}</span>
    <input
      type="search"
      placeholder={placeholder}
      value={value}
      onInput={({ currentTarget }) => {
        if (keep) currentTarget.value = keep(currentTarget.value);
        onChange(currentTarget.value);
      }}
    />
  </label>
);

export const FilterSearch = ({ value, onChange, ...search }: SearchProps) => {
  const [typed, setTyped] = useTyped(value, onChange);
  return <Search {...search} value={typed} onChange={setTyped} />;
};
