import { useEffect, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';

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

export const ThemeButton = () => {
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
