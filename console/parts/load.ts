import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type ApiFailure, asFailure } from '../api/failure.ts';

/** What a panel shows: the last good value stays while it is loaded again and when that fails. */
export type Loaded<T> = {
  value: T | undefined;
  failure: ApiFailure | undefined;
  isLoading: boolean;
  /** When `value` was loaded, in milliseconds since the epoch. */
  loadedAt: number;
  reload: () => void;
  /** Replaces the value by what a change has returned: lists are a second behind. */
  change: (next: (value: T) => T) => void;
};

type State<T> = Pick<Loaded<T>, 'value' | 'failure' | 'isLoading' | 'loadedAt'>;

const LOADING = { value: undefined, failure: undefined, isLoading: true, loadedAt: 0 };

/** Loads a value, again whenever `subject` changes; a response to an earlier subject is ignored. */
export const useLoad = <T>(subject: string, load: (subject: string) => Promise<T>): Loaded<T> => {
  const [state, setState] = useState<State<T>>(LOADING);
  const latest = useRef(load);
  latest.current = load;
  const turn = useRef(0);

  const run = useCallback((wanted: string, isKept: boolean) => {
    turn.current += 1;
    const own = turn.current;
    const settle = (next: (old: State<T>) => State<T>) => {
      if (own === turn.current) setState(next);
    };
    setState((old) => (isKept ? { ...old, isLoading: true } : LOADING));
    latest.current(wanted).then(
      (value) =>
        settle(() => ({ value, failure: undefined, isLoading: false, loadedAt: Date.now() })),
      (error) => settle((old) => ({ ...old, failure: asFailure(error), isLoading: false })),
    );
  }, []);

  useEffect(() => run(subject, false), [subject, run]);

  const change = useCallback((next: (value: T) => T) => {
    setState((old) => (old.value === undefined ? old : { ...old, value: next(old.value) }));
  }, []);
  return { ...state, reload: () => run(subject, true), change };
};
