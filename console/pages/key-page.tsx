import type { AuditEntry, Key } from '../api/types.ts';
import { Bars } from '../parts/bars.tsx';
import { Empty, Instant, Page, Section, Shown } from '../parts/blocks.tsx';
import { useShared } from '../parts/context.ts';
import { Copied } from '../parts/copy.tsx';
import { Facts } from '../parts/facts.tsx';
import { costText, count, plural } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { Meter } from '../parts/meter.tsx';
import { hrefOf } from '../parts/route.ts';
import { nameInAudit } from './audit.tsx';
import { useKeyActions } from './key-actions.tsx';
import { KeyStatus } from './key-table.tsx';
import { type KeyRow, loadCounts, nameOf } from './keys-data.ts';
import { RequestTable } from './request-table.tsx';
import { barsOf, lastDays, loadUsage } from './usage-data.ts';

const DAYS = 30;
const LAST_REQUESTS = 5;

const ownLimitsOf = ({ rpm, quota, concurrency }: Key): string =>
  [
    rpm !== undefined && `${count(rpm)} requests a minute`,
    quota !== undefined && `a quota of ${count(quota)}`,
    concurrency !== undefined && `${count(concurrency)} concurrently`,
  ]
    .filter(Boolean)
    .join(', ');

const KeyFacts = ({ row }: { row: KeyRow }) => {
  const { counts, models, project, replaced_by: successor } = row;
  return (
    <Facts
      of={{
        Key: (
          <>
            <code>{row.start}…</code> <Copied text={row.id} label="the key id" />
          </>
        ),
        Plan: row.plan,
        'Own limits': ownLimitsOf(row) || 'those of the plan',
        Models: models ? models.join(', ') : 'those of the plan',
        [`This ${counts?.period}`]: counts?.quota !== undefined && (
          <>
            <Meter used={counts.used ?? 0} limit={counts.quota} />
            {counts.resets_at && (
              <span class="quiet">
                resets <Instant at={counts.resets_at} />
              </span>
            )}
          </>
        ),
        'This minute':
          counts?.rpm !== undefined &&
          `${count(counts.used_this_minute ?? 0)} / ${count(counts.rpm)}`,
        'Last used': counts?.last_used_at ? (
          <Instant at={counts.last_used_at} isRelative />
        ) : (
          'never'
        ),
        Expires: row.expires_at ? <Instant at={row.expires_at} /> : 'never',
        'Replaced by': successor && (
          <a class="mono" href={hrefOf('keys', { id: successor, project })}>
            {successor}
          </a>
        ),
      }}
    />
  );
};

/** Who did what with the key, the first entry last: it names the creator. */
const History = ({ entries, row }: { entries: AuditEntry[]; row: KeyRow }) => (
  <ul class="panel list">
    {entries.map(({ id, action, who, at, outcome }) => (
      <li key={id}>
        <strong>{action.replace('keys.', '')}</strong>
        <span class="quiet">by {nameInAudit(who)}</span>
        {outcome === 'unknown' && <span class="pill is-warn">unknown outcome</span>}
        <span class="quiet push">
          <Instant at={at} />
        </span>
      </li>
    ))}
    {!entries.some(({ action }) => action === 'keys.create') && (
      <li>
        <strong>create</strong>
        <span class="quiet push">
          <Instant at={row.created_at} />
        </span>
      </li>
    )}
  </ul>
);

const useKey = (project: string, id: string) => {
  const { api } = useShared().session;
  const filter = { project, key: id };
  return {
    row: useLoad<KeyRow>(id, async () => {
      const [key, counts] = await Promise.all([
        api('keys.show', { project, key: id }),
        loadCounts(api, project, { keys: id }),
      ]);
      return { ...key, counts: counts.get(id) };
    }),
    usage: useLoad(`${id} ${lastDays(1)}`, () =>
      loadUsage(api, 'day', { ...filter, days: lastDays(DAYS) }),
    ),
    requests: useLoad(id, () => api('requests.list', {}, { ...filter, limit: LAST_REQUESTS })),
    history: useLoad(id, () => api('audit.list', {}, filter)),
  };
};

/** One key: what it may do, what it has used, its last requests and its history. */
export const KeyPage = ({ project, id }: { project: string; id: string }) => {
  const { row, usage, requests, history } = useKey(project, id);
  const actions = useKeyActions(project, (changed) => {
    // A successor is another key.
    if (changed.id === id) row.change((old) => ({ ...old, ...changed }));
    history.reload();
  });
  return (
    <Page
      title={row.value ? nameOf(row.value) : 'API key'}
      subtitle={<a href={hrefOf('keys', { project })}>API keys of project {project}</a>}
      actions={
        row.value && (
          <>
            <KeyStatus row={row.value} />
            {actions.actionsOf(row.value)}
          </>
        )
      }
    >
      <Shown of={row}>
        {(shown) => (
          <div class="panel is-padded">
            <KeyFacts row={shown} />
          </div>
        )}
      </Shown>
      <Section title={`The last ${DAYS} days`}>
        <Shown of={usage}>
          {(loaded) => (
            <Bars
              bars={barsOf(loaded, lastDays(DAYS), 'requests')}
              label={`${plural(loaded.total.charged, 'request')}, ${costText(loaded.total)} upstream`}
              format={count}
            />
          )}
        </Shown>
      </Section>
      <Section
        title={
          <>
            Last requests <a href={hrefOf('requests', { project, key: id })}>All</a>
          </>
        }
      >
        <Shown of={requests}>
          {({ data }) => (
            <RequestTable
              rows={data}
              empty={<Empty icon="requests" title="No requests in the last 24 hours" />}
            />
          )}
        </Shown>
      </Section>
      <Section title="History">
        {row.value && (
          <Shown of={history}>
            {({ data }) => row.value && <History entries={data} row={row.value} />}
          </Shown>
        )}
      </Section>
      {actions.dialog}
    </Page>
  );
};
