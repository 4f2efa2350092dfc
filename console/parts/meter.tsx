import { shortCount } from './format.ts';

const NEAR = 0.8;

/** How much of a limit is used: the numbers always, the bar as their picture. */
export const Meter = (parts: {
  used: number;
  limit: number;
  format?: (value: number) => string;
}) => {
  const { used, limit, format = shortCount } = parts;
  const share = limit === 0 ? 1 : Math.min(1, used / limit);
  const level = share >= 1 ? 'is-full' : share >= NEAR ? 'is-near' : '';
  return (
    <span class="meter">
      <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" class={level}>
        <rect class="track" width="100" height="6" />
        <rect class="bar" width={used > 0 ? Math.max(2, 100 * share) : 0} height="6" />
      </svg>
      <span class="number">
        {format(used)} / {format(limit)}
      </span>
    </span>
  );
};
