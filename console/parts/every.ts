import { useEffect, useRef } from 'preact/hooks';

/** Runs a call again and again while the page is in sight, each time after the one before has ended. */
export const useEvery = (ms: number, isOn: boolean, call: () => Promise<void>): void => {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    if (!isOn) return undefined;
    let timer: ReturnType<typeof setTimeout>;
    const next = () => {
      timer = setTimeout(async () => {
        if (!document.hidden) await latest.current();
        if (!isLeft) next();
      }, ms);
    };
    let isLeft = false;
    next();
    return () => {
      isLeft = true;
      clearTimeout(timer);
    };
  }, [ms, isOn]);
};
