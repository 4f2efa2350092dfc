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

type State<T> = Pick<Loaded<T>, 'value' | 'failure' | 'isLoading' | 'loadedAt'> & {
  subject: string;
};

const loading = (subject: string) => ({
  subject,
  value: undefined,
  failure: undefined,
  isLoading: true,
  loadedAt: 0,
});

/** Loads a value, again whenever `subject` changes; a response to an earlier subject is ignored. */
export const useLoad = <T>(subject: string, load: (subject: string) => Promise<T>): Loaded<T> => {
  const [state, setState] = useState<State<T>>(() => loading(subject));
  const latest = useRef(load);
  latest.current = load;
  const turn = useRef(0);

  const run = useCallback((wanted: string, isKept: boolean) => {
    turn.current += 1;
    const own = turn.current;
    const settle = (next: (old: State<T>) => State<T>) => {
      if (own === turn.current) setState(next);
    };
    setState((old) => (isKept ? { ...old, isLoading: true } : loading(wanted)));
    latest.current(wanted).then(
      (value) =>
        settle(() => ({ ...loading(wanted), value, isLoading: false, loadedAt: Date.now() })),
      (error) => settle((old) => ({ ...old, failure: asFailure(error), isLoading: false })),
    );
  }, []);

  useEffect(() => run(subject, false), [subject, run]);

  const change = useCallback(
    (next: (value: T) => T) => {
      setState((old) =>
        old.value === undefined || old.subject !== subject
          ? old
          : { ...old, value: next(old.value) },
      );
    },
    [subject],
  );
  // The effect runs after the first frame of a new subject, which must not show the value of the last one.
  const current = state.subject === subject ? state : loading(subject);
  return { ...current, reload: () => run(subject, true), change };
};
