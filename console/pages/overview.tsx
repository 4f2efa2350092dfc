import type { ComponentChildren } from 'preact';
import type { Api } from '../api/client.ts';
import type { KeyUsage } from '../api/types.ts';
import { Bars } from '../parts/bars.tsx';
import { useShared } from '../parts/context.ts';
import { count, percent } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { Page } from '../parts/page.tsx';
import { hrefOf } from '../parts/route.ts';
import { Empty, Shown } from '../parts/states.tsx';
import { Instant } from '../parts/time.tsx';
import { isEnded, loadCounts, nameOf } from './keys-data.ts';
import { RequestTable } from './requests.tsx';
import { Sums } from './usage.tsx';
import { ageOf, barsOf, lastDays, loadUsage } from './usage-data.ts';

const DAYS = 14;
/** The busiest keys of these days, as long as the longest period, are looked at. */
const BUSY_DAYS = 31;
const MAX_KEYS = 100;

type ProjectKey = KeyUsage & { project: string };

const shareOf = ({ used = 0, quota }: KeyUsage): number =>
  quota === undefined ? 0 : used / Math.max(1, quota);

/** The shares of a quota at which an event is sent. */
const THRESHOLDS = [1, 0.8, 0.5];
const TONES = { 1: 'bad', 0.8: 'warn', 0.5: 'off' } as Record<number, string>;

const thresholdOf = (row: KeyUsage): number | undefined =>
  THRESHOLDS.find((threshold) => shareOf(row) >= threshold);

/** Keys over a threshold, the fullest first. */
const loadNear = async (api: Api, project: string | undefined): Promise<ProjectKey[]> => {
  const { data } = await loadUsage(api, 'key', { project, days: lastDays(BUSY_DAYS) });
  const busiest = data.toSorted((one, other) => other.charged - one.charged).slice(0, MAX_KEYS);
  const byProject = Object.groupBy(busiest, (row) => row.project ?? '');
  const loads = Object.entries(byProject).map(async ([id, rows = []]) => {
    const keys = rows.map(({ key }) => key).join(',');
    const counts = await loadCounts(api, id, { keys });
    return [...counts.values()].map((row) => ({ ...row, project: id }));
  });
  return (await Promise.all(loads))
    .flat()
    .filter((row) => !isEnded(row) && thresholdOf(row) !== undefined)
    .toSorted((one, other) => shareOf(other) - shareOf(one));
};

const Section = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section class="section">
    <h2>{title}</h2>
    {children}
  </section>
);

const NearKeys = ({ rows }: { rows: ProjectKey[] }) => (
  <ul class="panel list">
    {rows.map((row) => {
      const { id, project, used = 0, quota = 0, period, resets_at: end } = row;
      return (
        <li key={id}>
          <span class={`pill is-${TONES[thresholdOf(row) ?? 0.5]}`}>
            {percent(thresholdOf(row) ?? 0, 1)} reached
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

/** The start: the last days, what needs attention, the last failures. */
export const OverviewPage = () => {
  const { session, project } = useShared();
  const { api } = session;
  const subject = project ?? '';
  const usage = useLoad(subject, () => loadUsage(api, 'day', { project, days: lastDays(DAYS) }));
  const failed = useLoad(subject, () =>
    api('requests.list', {}, { project, status: 'failed', limit: 5 }),
  );
  const near = useLoad(subject, () => loadNear(api, project));
  return (
    <Page
      title="Overview"
      subtitle={`The last ${DAYS} days (UTC)${usage.value ? ` · ${ageOf(usage.value)}` : ''}`}
    >
      <Shown of={usage}>
        {(loaded) => (
          <>
            <Sums sums={loaded.total} />
            <div class="panel is-padded">
              <Bars
                bars={barsOf(loaded, lastDays(DAYS), 'requests')}
                label="Charged requests"
                format={count}
              />
            </div>
          </>
        )}
      </Shown>
      <Section title="Quota thresholds reached">
        <Shown of={near}>
          {(rows) =>
            rows.length === 0 ? (
              <p class="panel is-padded quiet">No key has used half of its quota.</p>
            ) : (
              <NearKeys rows={rows} />
            )
          }
        </Shown>
      </Section>
      <Section title="Failed in the last 24 hours">
        <Shown of={failed}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty icon="check" title="No failed requests" />
            ) : (
              <RequestTable rows={data} />
            )
          }
        </Shown>
      </Section>
    </Page>
  );
};
