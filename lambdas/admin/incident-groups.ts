import { type Explanation, explain, explainAttempt, isFault } from '../records/explain.ts';
import { publicRefused } from '../records/public-refused.ts';
import type { Attempt, RefusedRequest, RequestRecord } from '../stores/record-store.ts';
import { MINUTE_MS } from '../support/clock.ts';
import { type Recent, targetOf } from './recent.ts';

/** Failures that are further apart are two incidents, of which the later one is shown. */
const QUIET_MS = 15 * MINUTE_MS;
/** Newest calls of a target that tell whether it still fails. */
const NEWEST = 10;

/** Failures of one kind at one target, or of one model without a call of a target. */
export type Incident = {
  explanation: Pick<Explanation, 'blame' | 'what' | 'next' | 'runbook'>;
  error: string | null;
  target: string | null;
  models: Set<string>;
  /** Instants in ms; absent if no failure is in the records read. */
  since?: number;
  last?: number;
  recoveredAt?: number | undefined;
  /** Of what failed, without older incidents. */
  requests: number;
  /** Those of them that no other target answered. */
  failed: number;
  keys: Map<string, { project: string; requests: number }>;
  newestRequest?: string;
  /** Whether the newest calls failed, the newest first. */
  outcomes: readonly boolean[];
  isOlder: boolean;
};
type Failure = Pick<Incident, 'explanation' | 'error' | 'target' | 'outcomes' | 'recoveredAt'> & {
  at: number;
  listed: Pick<RequestRecord, 'id' | 'projectId'> & { keyId?: string; model?: string };
  isAnswered: boolean;
};

/** Adds failures, which come the newest first. */
const createGroups = () => {
  const groups = new Map<string, Incident>();
  const groupOf = (name: string, { explanation, error, target, outcomes, ...failure }: Failure) => {
    const group = groups.get(name) ?? {
      ...{ explanation, error, target, outcomes, recoveredAt: failure.recoveredAt },
      ...{ since: failure.at, last: failure.at, newestRequest: failure.listed.id },
      ...{ models: new Set<string>(), keys: new Map(), requests: 0, failed: 0, isOlder: false },
    };
    groups.set(name, group);
    return group;
  };
  return {
    add: (name: string, failure: Failure): void => {
      const { at, listed, isAnswered } = failure;
      const group = groupOf(name, failure);
      group.isOlder ||= (group.since ?? at) - at > QUIET_MS;
      if (group.isOlder) return;
      group.since = Math.min(group.since ?? at, at);
      group.requests += 1;
      group.failed += isAnswered ? 0 : 1;
      if (listed.model) group.models.add(listed.model);
      const { keyId, projectId: project } = listed;
      if (keyId === undefined) return;
      group.keys.set(keyId, { project, requests: (group.keys.get(keyId)?.requests ?? 0) + 1 });
    },
    all: (): Incident[] => [...groups.values()],
  };
};

type Subject = { outcomes: boolean[]; answeredAt?: number };

const errorOf = ({ error = '', status }: Attempt): string =>
  error === 'status' ? `status ${status}` : error;

/** Failures of targets and of the router in records, the newest first; what a caller caused is none. */
export const groupFailures = (records: readonly RequestRecord[]): Incident[] => {
  const groups = createGroups();
  const subjects = new Map<string, Subject>();
  /** The subject with one more outcome, which is older than those before. */
  const after = (name: string, isFailed: boolean, at: number): Subject => {
    const subject = subjects.get(name) ?? { outcomes: [] };
    subjects.set(name, subject);
    if (subject.outcomes.length < NEWEST) subject.outcomes.push(isFailed);
    if (!isFailed) subject.answeredAt = at;
    return subject;
  };
  const add = (
    record: RequestRecord,
    name: string,
    { explanation, ...failure }: Pick<Failure, 'explanation' | 'error' | 'target' | 'at'>,
  ): void => {
    const isFailed = isFault(explanation);
    const { outcomes, answeredAt } = after(name, isFailed, failure.at);
    if (!isFailed) return;
    const isAnswered = record.outcome === 'finished';
    const details = { outcomes, recoveredAt: answeredAt, listed: record, isAnswered };
    groups.add(`${name} ${failure.error}`, { explanation, ...failure, ...details });
  };
  for (const record of records) {
    const { model, startedAt, error = null } = record;
    for (const attempt of record.attempts.toReversed()) {
      const target = targetOf(attempt);
      const at = startedAt + attempt.startedMs;
      add(record, target, {
        ...{ explanation: explainAttempt(attempt), error: errorOf(attempt), target, at },
      });
    }
    // Without a failed call: no target was asked, or the router itself failed.
    const explanation = explain(record);
    const isOfTarget = record.attempts.some((attempt) => isFault(explainAttempt(attempt)));
    if (isFault(explanation) && isOfTarget) continue;
    add(record, `model ${model}`, { explanation, error, target: null, at: startedAt });
  }
  return groups.all();
};

/** Refused requests by the rule that refused them; callers cause them. */
export const groupRefusals = (refusals: readonly RefusedRequest[], now: number): Incident[] => {
  const groups = createGroups();
  for (const refused of refusals) {
    const { what, next, rule } = publicRefused(refused);
    groups.add(rule.name, {
      explanation: { blame: 'caller', what, next },
      ...{ error: rule.name, target: null, at: refused.startedAt, listed: refused },
      ...{ isAnswered: false, outcomes: [now - refused.startedAt < QUIET_MS] },
    });
  }
  return groups.all();
};

/** Whether the first failure of an incident is among what was read. */
export const isSinceExact = (
  { since, isOlder }: Incident,
  { found, isAll }: Recent<{ startedAt: number }>,
): boolean => {
  const oldest = found.at(-1)?.startedAt ?? 0;
  return isAll || isOlder || (since ?? 0) - oldest > QUIET_MS;
};
