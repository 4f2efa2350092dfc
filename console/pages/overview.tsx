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
import { isEnded, type KeyRow, loadCounts, loadKeys } from './keys-data.ts';
import { RequestTable } from './requests.tsx';
import { Sums } from './usage.tsx';
import { barsOf, loadUsage } from './usage-data.ts';

const DAYS = 14;
/** Projects whose keys are looked at: each is a call. */
const MAX_PROJECTS = 5;
const NEAR = 0.8;

const isNear = ({ counts, ...key }: KeyRow): boolean =>
  !isEnded(key) && counts?.quota !== undefined && (counts.used ?? 0) >= NEAR * counts.quota;

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
    {rows.map(({ id, name, project, counts }) => (
      <li key={id}>
        <span class={`pill is-${counts?.remaining === 0 ? 'bad' : 'warn'}`}>
          {percent(counts?.used ?? 0, counts?.quota ?? 0)} used
        </span>
        <a class="clip" href={hrefOf('keys', { project })}>
          {name ?? id}
        </a>
        <span class="quiet number">
          {count(counts?.used ?? 0)} of {count(counts?.quota ?? 0)} this {counts?.period}
        </span>
      </li>
    ))}
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
    return rows.flat().filter(isNear);
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
      <Section title="Needs attention">
        <Shown of={near}>
          {(rows) =>
            rows.length === 0 ? (
              <p class="panel is-padded quiet">No key is near the end of its quota.</p>
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
