import { useLayoutEffect, useState } from 'preact/hooks';
import { type ApiFailure, asFailure } from '../api/failure.ts';

const createLatest = () => {
  let turn = 0;
  return {
    /** Ignores what the last call returns. */
    drop: (): void => {
      turn += 1;
    },
    /** Passes on what a call returns, unless a later one has begun before it ends. */
    follow: <T>(
      call: Promise<T>,
      onValue: (value: T) => void,
      onFailure: (failure: ApiFailure) => void,
    ): void => {
      turn += 1;
      const own = turn;
      call.then(
        (value) => own === turn && onValue(value),
        (error) => own === turn && onFailure(asFailure(error)),
      );
    },
  };
};

/** Calls of a component of which only the last one counts, and none once the component is gone. */
export const useLatest = (): ReturnType<typeof createLatest> => {
  const [latest] = useState(createLatest);
  useLayoutEffect(() => latest.drop, [latest]);
  return latest;
};
