import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { ApiFailure } from '../api/failure.ts';
import { useLatest } from './latest.ts';

type State<T> = {
  subject: string;
  value: T | undefined;
  failure: ApiFailure | undefined;
  /** When `value` was loaded, in milliseconds since the epoch. */
  loadedAt: number;
};

/** What a panel shows: the last good value stays while it is loaded again and when that fails. */
export type Loaded<T> = State<T> & {
  reload: () => void;
  /** Replaces the value by what a change has returned: lists are a second behind. */
  change: (next: (value: T) => T) => void;
};

const loading = (subject: string) => ({
  subject,
  value: undefined,
  failure: undefined,
  loadedAt: 0,
});

/** Loads a value, again whenever `subject` changes; a response to an earlier subject is ignored. A value that is known already is not loaded. */
export const useLoad = <T>(
  subject: string,
  load: (subject: string) => Promise<T>,
  known?: T,
): Loaded<T> => {
  const [state, setState] = useState<State<T>>(() => ({ ...loading(subject), value: known }));
  const { follow } = useLatest();
  // A dialog may ask for a reload with the function of an earlier subject.
  const wanted = useRef({ subject, load });
  wanted.current = { subject, load };
  /** Since the last load began: its response may be older than they are. */
  const changes = useRef<((value: T) => T)[]>([]);

  const reload = useCallback(() => {
    const { subject: asked, load: call } = wanted.current;
    changes.current = [];
    const onValue = (loaded: T) => {
      const value = changes.current.reduce((old, next) => next(old), loaded);
      setState({ ...loading(asked), value, loadedAt: Date.now() });
    };
    follow(call(asked), onValue, (failure) => setState((old) => ({ ...old, failure })));
  }, [follow]);

  /** The subject whose value came with the page. */
  const knownFor = useRef(known === undefined ? undefined : subject);
  useEffect(() => {
    const isKnown = knownFor.current === subject;
    knownFor.current = undefined;
    if (isKnown) return;
    setState(loading(subject));
    reload();
  }, [subject, reload]);

  const change = useCallback(
    (next: (value: T) => T) => {
      if (wanted.current.subject !== subject) return;
      changes.current.push(next);
      setState((old) => (old.value === undefined ? old : { ...old, value: next(old.value) }));
    },
    [subject],
  );
  // The effect runs after the first frame of a new subject, which must not show the value of the last one.
  const current = state.subject === subject ? state : loading(subject);
  return { ...current, reload, change };
};
