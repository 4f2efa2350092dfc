import { useEffect, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';

const NAME = 'theme';
const isDark = (): boolean => matchMedia('(prefers-color-scheme: dark)').matches;

/** The reader's choice, or the one of the system. */
const readTheme = (): 'light' | 'dark' => {
  const chosen = localStorage.getItem(NAME);
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return isDark() ? 'dark' : 'light';
};

export const ThemeButton = () => {
  const [theme, setTheme] = useState(readTheme);
  useEffect(() => {
    document.documentElement.style.colorScheme = theme;
  }, [theme]);
  const next = theme === 'dark' ? 'light' : 'dark';
  return (
    <button
      type="button"
      class="button is-icon"
      aria-label={`Use the ${next} theme`}
      onClick={() => {
        localStorage.setItem(NAME, next);
        setTheme(next);
      }}
    >
      <Icon name="sun" />
    </button>
  );
};
