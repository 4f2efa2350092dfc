import { formatInstant } from '../support/clock.ts';
import { groupFailures, groupRefusals, type Incident, isSinceExact } from './incident-groups.ts';
import type { Operation, OperationParts } from './operation.ts';
import { projectsSeenBy } from './projects.ts';
import { type Recent, readKeyNames, readRecent } from './recent.ts';
import { type Health, readTargetStates } from './targets.ts';

/** Keys that an incident names; it counts all of them. */
const MOST_NAMED = 20;
/** Incidents that are shown: more of them have one cause. */
const MOST_INCIDENTS = 50;

/** What ends an incident, by the runbook of its failure. */
const RECOVERY: Record<string, string> = {
  'upstream-credential-refused':
    'A valid credential in its field of the upstream secret, or access at the provider. Then test the target on the page Models.',
  'upstream-no-quota':
    'Money or quota at the provider; the router asks such an account again after 5 minutes.',
  'upstream-model-unknown':
    "The provider's present name of the model in the catalog, and a deployment.",
  'secret-fetch-failed': 'The missing field in the upstream secret.',
  'deadline-cuts': 'Callers that stream, or ask for fewer tokens or less effort.',
  'server-errors': 'The log line with the id of the newest request has the origin of the failure.',
};
const BY_ITSELF =
  'The provider: the router asks the target again automatically. Until then requests go to the next target of the model, where it has one.';

const recoveryOf = ({ explanation: { blame, runbook = '', next } }: Incident): string =>
  blame === 'caller' ? next : (RECOVERY[runbook] ?? BY_ITSELF);

const STATES = ['failing', 'partly', 'over'] as const;
type State = (typeof STATES)[number];

/** By the newest calls of the target, or requests of the model: whether all fail, some of them, or none any more. */
const stateOf = ({ outcomes }: Incident, health: Health | undefined): State => {
  if (outcomes[0] || (health && health.state !== 'closed')) return 'failing';
  return outcomes.includes(true) ? 'partly' : 'over';
};

/** What callers alone can correct comes after all that an operator can. */
const isOfCaller = ({ incident }: Shown): number => Number(incident.explanation.blame === 'caller');

/** A target whose breaker opened in another environment, or before the records that were read. */
const heldOff = (target: string): Incident => ({
  explanation: {
    blame: 'provider',
    what: 'The target is held off after failures that are not among the requests read.',
    next: '',
    runbook: 'no-healthy-target',
  },
  ...{ target, error: null, models: new Set(), keys: new Map(), requests: 0, failed: 0 },
  ...{ outcomes: [], isOlder: true },
});

const instantOf = (instant: number | undefined): string | null =>
  instant === undefined ? null : formatInstant(instant);

type Shown = { incident: Incident; state: State; health: Health | undefined; isExact: boolean };

const publicIncident = (
  { incident, state, health, isExact }: Shown,
  nameOf: (keyId: string) => string | null,
) => {
  const { explanation, keys, since, last, recoveredAt, ...rest } = incident;
  const named = [...keys].toSorted(([, one], [, other]) => other.requests - one.requests);
  return {
    state,
    what: explanation.what,
    error: rest.error,
    whose_fault: explanation.blame,
    target: rest.target,
    models: [...rest.models],
    since: instantOf(since),
    is_since_exact: isExact,
    last: instantOf(last),
    recovered_at: state === 'over' ? instantOf(recoveredAt) : null,
    requests: rest.requests,
    failed: rest.failed,
    projects: [...new Set(named.map(([, { project }]) => project))],
    keys: named
      .slice(0, MOST_NAMED)
      .map(([id, { project, requests }]) => ({ id, name: nameOf(id), project, requests })),
    key_count: keys.size,
    recovery: recoveryOf(incident),
    runbook: explanation.runbook ?? null,
    newest_request: rest.newestRequest ?? null,
    held_off_until: health?.state === 'closed' ? null : (health?.open_until ?? null),
  };
};

/** What fails, since when, whom it hits and what ends it: from the newest requests and the states of the targets. */
export const createListIncidents = (parts: OperationParts) => {
  const { records, projects, keys, clock } = parts;

  const findIncidents = async (ids: string[], now: number) => {
    const [read, refused, healths] = await Promise.all([
      readRecent(records.listRecords, ids, now),
      // Those without a known key are of no project.
      readRecent(records.listRefused, [...ids, ''], now),
      readTargetStates(parts),
    ]);
    const failures = groupFailures(read.found);
    const silent = [...healths.keys()].filter(
      (target) =>
        healths.get(target)?.state !== 'closed' && !failures.some((one) => one.target === target),
    );
    const show = (incident: Incident, from: Recent<{ startedAt: number }>): Shown => {
      const health = healths.get(incident.target ?? '');
      const isExact = isSinceExact(incident, from);
      return { incident, health, state: stateOf(incident, health), isExact };
    };
    const shown = [
      ...[...failures, ...silent.map(heldOff)].map((incident) => show(incident, read)),
      ...groupRefusals(refused.found, now).map((incident) => show(incident, refused)),
    ];
    return { shown, read };
  };

  const list = (async ({ identity }) => {
    const ids = await projectsSeenBy(projects, identity);
    const { shown, read } = await findIncidents(ids, clock.now());
    const newest = shown
      .toSorted(
        (one, other) =>
          isOfCaller(one) - isOfCaller(other) ||
          STATES.indexOf(one.state) - STATES.indexOf(other.state) ||
          (other.incident.last ?? 0) - (one.incident.last ?? 0),
      )
      .slice(0, MOST_INCIDENTS);
    const refs = newest.flatMap(({ incident }) =>
      [...incident.keys]
        .slice(0, MOST_NAMED)
        .map(([keyId, { project: projectId }]) => ({ keyId, projectId })),
    );
    const nameOf = await readKeyNames(keys, refs);
    const data = newest.map((one) => publicIncident(one, nameOf));
    const figures = { of_requests: read.found.length, is_all: read.isAll, since: read.since };
    return { status: 200, body: { ...figures, data } };
  }) satisfies Operation<'incidents.list'>;

  return { 'incidents.list': list };
};
