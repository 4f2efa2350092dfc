import type { Incident } from '../api/types.ts';
import { Basis, Button, Empty, Instant, Page, Section, Shown } from '../parts/blocks.tsx';
import { useShared } from '../parts/context.ts';
import { useEvery } from '../parts/every.ts';
import { Facts } from '../parts/facts.tsx';
import { count, plural } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { hrefOf } from '../parts/route.ts';
import { RunbookLink } from '../parts/runbook-link.tsx';

const REFRESH_MS = 15_000;

const STATES = {
  failing: { text: 'failing', tone: 'bad' },
  partly: { text: 'fails partly', tone: 'warn' },
  over: { text: 'over', tone: 'good' },
};

const Since = ({ incident }: { incident: Incident }) => {
  const { since, is_since_exact: isExact, last, recovered_at: end } = incident;
  if (since === null) return <>before the requests read</>;
  return (
    <>
      <Instant at={since} />
      {!isExact && ' or before'} (<Instant at={since} isRelative />)
      {last !== null && last !== since && (
        <>
          , last <Instant at={last} />
        </>
      )}
      {end !== null && (
        <>
          , a success again <Instant at={end} />
        </>
      )}
    </>
  );
};

const Hit = ({ incident }: { incident: Incident }) => {
  const { projects, keys, key_count: all } = incident;
  return (
    <>
      {projects.map((project) => (
        <a key={project} class="nowrap" href={hrefOf('usage', { project })}>
          {project}
        </a>
      ))}
      {all > 0 && <span class="quiet">{plural(all, 'key')}:</span>}
      {keys.map(({ id, name, project, requests }) => (
        <a key={id} class="tag" title={id} href={hrefOf('keys', { id, project })}>
          {name ?? id} ({count(requests)})
        </a>
      ))}
      {all > keys.length && <span class="quiet">and {count(all - keys.length)} more</span>}
    </>
  );
};

const howMany = ({ requests, failed }: Incident): string => {
  if (requests === 0) return 'none of those read';
  const answered = requests - failed;
  const by = answered === 0 ? '' : `, ${count(answered)} answered by another target`;
  return `${plural(requests, 'request')}: ${count(failed)} failed${by}`;
};

const IncidentFacts = ({ incident }: { incident: Incident }) => {
  const { models, recovery, runbook, newest_request: newest, held_off_until: until } = incident;
  return (
    <Facts
      of={{
        Since: <Since incident={incident} />,
        Hits: howMany(incident),
        Whom: incident.key_count > 0 && (
          <span class="tags">
            <Hit incident={incident} />
          </span>
        ),
        Models: models.length > 0 && models.join(', '),
        'What ends it': (
          <>
            {recovery}
            {until && (
              <>
                {' '}
                The target is asked again <Instant at={until} />.
              </>
            )}
          </>
        ),
        'Look at': (
          <span class="tags">
            {runbook && <RunbookLink anchor={runbook} />}
            {newest && <a href={hrefOf('requests', { id: newest })}>The newest request</a>}
            <a href={requestsOf(incident)}>All its requests</a>
          </span>
        ),
      }}
    />
  );
};

/** A failed call of a target is in requests that another one has answered, too. */
const requestsOf = ({ whose_fault: fault, target, error, failed, models }: Incident): string => {
  if (fault === 'caller') return hrefOf('requests', { status: 'refused' });
  if (failed === 0) return hrefOf('requests', { model: models[0] });
  const kind = error?.startsWith('status ') ? 'status' : error;
  return hrefOf('requests', { target: target ?? undefined, error: kind ?? undefined });
};

const Card = ({ incident }: { incident: Incident }) => {
  const { state, what, target, error } = incident;
  return (
    <li class="panel is-padded">
      <h3>
        <span class={`pill is-${STATES[state].tone}`}>{STATES[state].text}</span>{' '}
        {target ?? incident.models.join(', ')} {error && <span class="quiet mono">{error}</span>}
      </h3>
      <p>{what}</p>
      <IncidentFacts incident={incident} />
    </li>
  );
};

const Group = ({ title, incidents }: { title: string; incidents: Incident[] }) =>
  incidents.length === 0 ? null : (
    <Section title={title}>
      <ul class="cards-list">
        {incidents.map((incident) => (
          <Card
            key={`${incident.target} ${incident.error} ${incident.models}`}
            incident={incident}
          />
        ))}
      </ul>
    </Section>
  );

const Found = ({ data }: { data: Incident[] }) => {
  const own = data.filter(({ whose_fault: fault }) => fault !== 'caller');
  const refused = data.filter(({ whose_fault: fault }) => fault === 'caller');
  return (
    <>
      {own.some(({ state }) => state !== 'over') ? null : (
        <Empty icon="check" title="Nothing fails now" />
      )}
      <Group title="Failures" incidents={own.filter(({ state }) => state !== 'over')} />
      <Group title="Refused requests, which their callers can correct" incidents={refused} />
      <Group title="Over" incidents={own.filter(({ state }) => state === 'over')} />
    </>
  );
};

/** What fails, since when, whom it hits, and what ends it. */
export const IncidentsPage = () => {
  const { session } = useShared();
  const loaded = useLoad('', () => session.api('incidents.list', {}));
  useEvery(REFRESH_MS, true, async () => loaded.reload());
  return (
    <Page
      title="Incidents"
      subtitle={loaded.value && <Basis of={loaded.value} />}
      actions={<Button onClick={loaded.reload}>Refresh</Button>}
    >
      <Shown of={loaded}>{({ data }) => <Found data={data} />}</Shown>
    </Page>
  );
};
