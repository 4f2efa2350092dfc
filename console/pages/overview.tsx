import type { ComponentChildren } from 'preact';
import type { Api } from '../api/client.ts';
import type { RequestPage } from '../api/types.ts';
import { Bars } from '../parts/bars.tsx';
import { useShared } from '../parts/context.ts';
import { count, percent } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { Page } from '../parts/page.tsx';
import { hrefOf } from '../parts/route.ts';
import { Empty, Shown } from '../parts/states.tsx';
import { Instant } from '../parts/time.tsx';
import { isEnded, type KeyRow, loadCounts, loadKeys, nameOf } from './keys-data.ts';
import { RequestTable } from './requests.tsx';
import { Sums } from './usage.tsx';
import { barsOf, loadUsage } from './usage-data.ts';

const DAYS = 14;
/** Projects whose keys are looked at: each is a call. */
const MAX_PROJECTS = 5;

const shareOf = ({ counts }: KeyRow): number =>
  counts?.quota === undefined ? 0 : (counts.used ?? 0) / Math.max(1, counts.quota);

/** The shares of a quota at which an event is sent. */
const THRESHOLDS = [1, 0.8, 0.5];
const TONES = { 1: 'bad', 0.8: 'warn', 0.5: 'off' } as Record<number, string>;

const thresholdOf = (row: KeyRow): number | undefined =>
  THRESHOLDS.find((threshold) => shareOf(row) >= threshold);

const rowsOf = async (api: Api, project: string): Promise<KeyRow[]> => {
  const query = { q: '', status: 'active' };
  const [{ data }, counts] = await Promise.all([
    loadKeys(api, project, query),
    loadCounts(api, project),
  ]);
  return data.map((row) => ({ ...row, counts: counts.get(row.id) }));
};

const Section = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section class="section">
    <h2>{title}</h2>
    {children}
  </section>
);

const NearKeys = ({ rows }: { rows: KeyRow[] }) => (
  <ul class="panel list">
    {rows.map((row) => {
      const { id, project, counts } = row;
      return (
        <li key={id}>
          <span class={`pill is-${TONES[thresholdOf(row) ?? 0.5]}`}>
            {percent(thresholdOf(row) ?? 0, 1)} reached
          </span>
          <a class="clip" href={hrefOf('keys', { id, project })}>
            {nameOf(row)}
          </a>
          <span class="quiet number">
            {count(counts?.used ?? 0)} of {count(counts?.quota ?? 0)} this {counts?.period}
          </span>
          {counts?.resets_at && (
            <span class="quiet push">
              resets <Instant at={counts.resets_at} isRelative />
            </span>
          )}
        </li>
      );
    })}
  </ul>
);

/** The start: the last days, what needs attention, the last failures. */
export const OverviewPage = () => {
  const { session, project, projects } = useShared();
  const { api } = session;
  const subject = project ?? '';
  const usage = useLoad(subject, () => loadUsage(api, 'day', { project, days: DAYS }));
  const failed = useLoad(subject, () =>
    api.get<RequestPage>('requests', { project, status: 'failed', limit: 5 }),
  );
  const near = useLoad(subject, async () => {
    const ids = project === undefined ? projects.map(({ id }) => id) : [project];
    const rows = await Promise.all(ids.slice(0, MAX_PROJECTS).map((id) => rowsOf(api, id)));
    return rows
      .flat()
      .filter((row) => !isEnded(row) && thresholdOf(row) !== undefined)
      .toSorted((one, other) => shareOf(other) - shareOf(one));
  });
  return (
    <Page title="Overview" subtitle={`The last ${DAYS} days (UTC)`}>
      <Shown of={usage}>
        {(loaded) => (
          <>
            <Sums sums={loaded.total} />
            <div class="panel is-padded">
              <Bars
                bars={barsOf(loaded, DAYS, 'requests')}
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
        {project === undefined && projects.length > MAX_PROJECTS && (
          <p class="hint">
            Of the first {MAX_PROJECTS} projects. Choose a project to see those of its keys.
          </p>
        )}
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
