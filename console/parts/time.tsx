import type { OfRecent } from '../api/types.ts';
import { localTime, plural, relativeTime, utcTime } from './format.ts';

/** An instant: its distance, or the local time; the tooltip has both zones. */
export const Instant = ({ at, isRelative = false }: { at: string; isRelative?: boolean }) => (
  <time dateTime={at} title={`${localTime(at)} · ${utcTime(at)}`}>
    {isRelative ? relativeTime(at, Date.now()) : localTime(at)}
  </time>
);

/** What figures are of: the last requests, or all of the day. */
export const Basis = ({ of }: { of: OfRecent }) => (
  <>
    Of {of.is_all ? 'all' : 'the last'} {plural(of.of_requests, 'request')}, since{' '}
    <Instant at={of.since} />.
  </>
);
