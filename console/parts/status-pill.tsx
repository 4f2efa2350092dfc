import type { RequestSummary } from '../api/types.ts';

/** The status that was sent, and whether the response was complete. */
export const StatusPill = ({ status, outcome }: Pick<RequestSummary, 'status' | 'outcome'>) => {
  const tone = { finished: 'good', abandoned: 'warn', refused: 'warn', failed: 'bad' }[outcome];
  return (
    <span class={`pill is-${tone}`}>
      {status} {outcome}
    </span>
  );
};
