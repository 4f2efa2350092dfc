import type { ComponentChildren } from 'preact';
import { ApiFailure } from '../api/failure.ts';
import type { KeyUsage, NearKey, Overview, Unread } from '../api/types.ts';
import { Bars } from '../parts/bars.tsx';
import { Empty, FailureBox, Instant, Page, Section, Shown } from '../parts/blocks.tsx';
import { useShared } from '../parts/context.ts';
import { count, percent } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { hrefOf } from '../parts/route.ts';
import { nameOf } from './keys-data.ts';
import { RequestTable } from './request-table.tsx';
import { ageOf, barsOf, lastDays } from './usage-data.ts';
import { Sums } from './usage-sums.tsx';

const DAYS = 14;
/** What came with the page is shown at its start, and loaded again by a later visit. */
const FRESH_MS = 5_000;

const shareOf = ({ used = 0, quota = 0 }: KeyUsage): number => used / Math.max(1, quota);

/** The shares of a quota at which an event is sent. */
const THRESHOLDS = [1, 0.8, 0.5];
const TONES = { 1: 'bad', 0.8: 'warn', 0.5: 'off' } as Record<number, string>;

const thresholdOf = (row: KeyUsage): number =>
  THRESHOLDS.find((threshold) => shareOf(row) >= threshold) ?? 0;

type ReadProps<T> = { of: T | Unread; children: (value: T) => ComponentChildren };

const Read = <T extends object>({ of, children }: ReadProps<T>): ComponentChildren =>
  'failure' in of ? <FailureBox failure={new ApiFailure(of.failure)} /> : children(of);

const NearKeys = ({ rows }: { rows: NearKey[] }) => (
  <ul class="panel list">
    {rows.map((row) => {
      const { id, project, used = 0, quota = 0, period, resets_at: end } = row;
      return (
        <li key={id}>
          <span class={`pill is-${TONES[thresholdOf(row)]}`}>
            {percent(thresholdOf(row), 1)} reached
          </span>
          <a class="clip" href={hrefOf('keys', { id, project })}>
            {nameOf(row)}
          </a>
          <span class="quiet number">
            {count(used)} of {count(quota)} this {period}
          </span>
          {end && (
            <span class="quiet push">
              resets <Instant at={end} isRelative />
            </span>
          )}
        </li>
      );
    })}
  </ul>
);

const Sections = ({ usage, near, failed }: Overview) => (
  <>
    <Read of={usage}>
      {(read) => (
        <>
          <Sums sums={read.total} before={read.before} />
          <Bars
            bars={barsOf(read, lastDays(DAYS), 'requests')}
            label="Charged requests"
            format={count}
          />
        </>
      )}
    </Read>
    <Section title="Quota thresholds reached">
      <Read of={near}>
        {(rows) =>
          rows.length === 0 ? (
            <p class="panel is-padded quiet">No key has used half of its quota.</p>
          ) : (
            <NearKeys rows={rows} />
          )
        }
      </Read>
    </Section>
    <Section title="Failed in the last 24 hours">
      <Read of={failed}>
        {(rows) => (
          <RequestTable rows={rows} empty={<Empty icon="check" title="No failed requests" />} />
        )}
      </Read>
    </Section>
  </>
);

const subtitleOf = (overview: Overview | undefined): string => {
  const days = `The last ${DAYS} days (UTC)`;
  return !overview || 'failure' in overview.usage ? days : `${days} · ${ageOf(overview.usage)}`;
};

/** The start: the last days and those before, what needs attention, the last failures. */
export const OverviewPage = () => {
  const { session, project, overview } = useShared();
  const isFresh = overview && overview.project === project && Date.now() - overview.at < FRESH_MS;
  const known = isFresh ? overview.value : undefined;
  const loaded = useLoad(
    `${project} ${lastDays(1)}`,
    () => session.api('overview', {}, { project }),
    known,
  );
  return (
    <Page title="Overview" subtitle={subtitleOf(loaded.value)}>
      <Shown of={loaded}>{(value) => <Sections {...value} />}</Shown>
    </Page>
  );
};
