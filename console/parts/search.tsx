import { useEffect, useState } from 'preact/hooks';
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

type SearchProps = {
  label: string;
  placeholder: string;
  value: string;
  onChange: (text: string) => void;
  /** What is kept of a typed text. @default all of it */
  keep?: (typed: string) => string;
};

/** A field that narrows the list below it. */
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
