import { localTime, relativeTime, utcTime } from './format.ts';

/** An instant: its distance, or the local time; the tooltip has both zones. */
export const Instant = ({ at, isRelative = false }: { at: string; isRelative?: boolean }) => (
  <time dateTime={at} title={`${localTime(at)} · ${utcTime(at)}`}>
    {isRelative ? relativeTime(at, Date.now()) : localTime(at)}
  </time>
);
