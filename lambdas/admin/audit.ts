import type { Action, AuditEntry, Made } from '../stores/audit-store.ts';
import { HISTORY_DAYS } from '../stores/history-store.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import { DAY_MS, formatInstant } from '../support/clock.ts';
import { ApiError, apiError } from '../support/errors.ts';
import { auditIdOf } from '../support/ids.ts';
import { omitUndefined } from '../support/objects.ts';
import { keptRange } from './input.ts';
import type { AdminParts, Operation, OperationParts, PlainReply } from './operation.ts';
import { readPage } from './page.ts';
import { maySee, projectNotFound, seesAll } from './roles.ts';

/** Who is about to change what. */
export type Intent = {
  requestId: string;
  startedAt: number;
  who: string;
  action: Action;
  /** Of the path: project, plan, key and member. */
  parameters: Record<string, string>;
  /** The validated body. */
  input: unknown;
};

type Perform = () => Promise<PlainReply & { changes?: Made[] }>;

/**
 * Runs a change between two writes: the intent, without which nothing is changed, and its outcome. A process or
 * table that fails in between leaves the intent, with the outcome `unknown`: a change is never unrecorded.
 * @throws ApiError 503 if the intent was not written; what the change throws
 */
export type Audit = (intent: Intent, perform: Perform) => Promise<PlainReply>;

/** Larger inputs, which only `apply` has, are left out of an intent; an item holds 400 KB. */
const MAX_INPUT_CHARACTERS = 20_000;

const fieldsOf = (input: unknown): Record<string, unknown> | undefined =>
  typeof input === 'object' && input !== null && JSON.stringify(input).length < MAX_INPUT_CHARACTERS
    ? { ...input }
    : undefined;

/** What the request names, in its entry of this index. */
const entryOf = ({ requestId, startedAt, who, action, parameters }: Intent, index: number) => {
  const { project, plan, key, member } = parameters;
  const id = auditIdOf(requestId, startedAt, index);
  const ids = omitUndefined({ project, plan, key, member });
  return { id, requestId, changedAt: startedAt, who, action, ...ids };
};

const intentEntry = (intent: Intent) => ({
  ...entryOf(intent, 0),
  ...omitUndefined({ after: fieldsOf(intent.input) }),
});

export const createAudit = ({ audit, log }: AdminParts): Audit => {
  const putIntent = async (intent: Intent): Promise<void> => {
    try {
      await audit.putEntry({ ...intentEntry(intent), outcome: 'unknown' });
    } catch (cause) {
      if (!(cause instanceof StoreUnavailable)) throw cause;
      throw apiError('The audit is unavailable, so the change was not made. Retry.', {
        status: 503,
        cause,
      });
    }
  };

  /** The first entry is written last: it has the id of the intent and takes its place. Never throws. */
  const putOutcomes = async ({ requestId }: Intent, entries: AuditEntry[]): Promise<void> => {
    try {
      for (const entry of entries.toReversed()) await audit.putEntry(entry);
    } catch {
      log.error('audit_write_failed', { requestId });
    }
  };

  const putChanges = async (intent: Intent, changes: Made[]): Promise<void> => {
    const outcome = 'applied' as const;
    const entries = changes.map((made, index) => ({ ...entryOf(intent, index), outcome, ...made }));
    for (const { action, project: projectId, plan: planId, key: keyId, after } of entries) {
      const leaked = after?.reason === 'leaked' || undefined;
      const ids = omitUndefined({ projectId, planId, keyId, leaked });
      log.info('admin_change', {
        requestId: intent.requestId,
        operator: intent.who,
        action,
        ...ids,
      });
    }
    await putOutcomes(intent, entries);
  };

  const putUnchanged = (intent: Intent): Promise<void> =>
    putOutcomes(intent, [{ ...intentEntry(intent), outcome: 'unchanged' }]);

  return async (intent, perform) => {
    await putIntent(intent);
    try {
      const { changes = [], ...reply } = await perform();
      await (changes.length > 0 ? putChanges(intent, changes) : putUnchanged(intent));
      return reply;
    } catch (error) {
      if (error instanceof ApiError && error.status < 500) await putUnchanged(intent);
      throw error;
    }
  };
};

const DEFAULT_DAYS = 90;

const publicEntry = ({ changedAt, requestId, ...entry }: AuditEntry) => ({
  at: formatInstant(changedAt),
  ...entry,
  request: requestId,
});

/** Changes, the newest first, without requests that changed nothing. Members see those of their projects. */
export const createListAudit = ({ audit, clock }: OperationParts) => {
  const list = (async ({ query, identity }) => {
    const now = clock.now();
    const { since = now - DEFAULT_DAYS * DAY_MS, until, project, key, limit, cursor } = query;
    const who = query.who?.toLowerCase() ?? '';
    if (project !== undefined && !maySee(identity, project)) throw projectNotFound(project);
    const range = keptRange({ since, until }, HISTORY_DAYS, now);
    const entries = audit.listEntries({ ...range, before: cursor });
    const page = await readPage(entries, {
      limit,
      placeOf: ({ id }) => id,
      isWanted: (entry) =>
        entry.outcome !== 'unchanged' &&
        (entry.project === undefined ? seesAll(identity) : maySee(identity, entry.project)) &&
        (project === undefined || entry.project === project) &&
        (key === undefined || entry.key === key) &&
        entry.who.toLowerCase().includes(who),
    });
    return { status: 200, body: { ...page, data: page.data.map(publicEntry) } };
  }) satisfies Operation<'audit.list'>;
  return { 'audit.list': list };
};
