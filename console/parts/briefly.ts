import { useCallback, useEffect, useState } from 'preact/hooks';

/** A value that is shown for some milliseconds; setting it again starts them again. */
export const useBriefly = <T>(ms: number): [shown: T | undefined, show: (value: T) => void] => {
  const [state, setState] = useState<{ value: T }>();
  useEffect(() => {
    if (!state) return undefined;
    const timer = setTimeout(() => setState(undefined), ms);
    return () => clearTimeout(timer);
  }, [state, ms]);
  const show = useCallback((value: T) => setState({ value }), []);
  return [state?.value, show];
};
