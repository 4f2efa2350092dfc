import { publicSession, readSession } from '../history/read-session.ts';
import type { Meter } from '../metering/meter.ts';
import { hashValue, type ReadWhoKey } from '../records/hash-who.ts';
import type { RecordStore } from '../stores/record-store.ts';
import { DAY_MS } from '../support/clock.ts';
import { invalidRequest, notFound, retryLater } from '../support/errors.ts';
import type { Endpoint } from './endpoint.ts';

const DEFAULT_DAYS = 7;
const MAX_DAYS = 35;

const NOT_FOUND =
  'Session not found among the latest 10,000 requests of this project and the days that were asked for (days=7). ' +
  'The id is what the client sends, such as x-router-session or x-claude-code-session-id.';

/** @throws ApiError 400 */
const daysIn = (text = String(DEFAULT_DAYS)): number => {
  const days = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (days >= 1 && days <= MAX_DAYS) return days;
  throw invalidRequest(`days: must be a number from 1 to ${MAX_DAYS}.`, { param: 'days' });
};

type Parts = {
  meter: Meter;
  records: Pick<RecordStore, 'listRecords'>;
  readWhoKey: ReadWhoKey | undefined;
};

/**
 * GET /v1/sessions/{id}: what a session of the key's project used and cost, free of quota. Another project's session does
 * not exist. @throws ApiError 400, 404 or 503
 */
export const createExplainSession =
  ({ meter, records, readWhoKey }: Parts): Endpoint =>
  async ({ caller, pathParameter: id = '', query, startedAt }) => {
    await meter.admitFree(caller);
    const { projectId } = caller;
    const range = { from: startedAt - daysIn(query.days) * DAY_MS, to: startedAt + DAY_MS };
    const read = async () => {
      const session = await hashValue(id, projectId, readWhoKey);
      return readSession(records, { projectId, session, ...range });
    };
    const found = await read().catch((cause) => {
      throw retryLater('The records are unavailable.', cause);
    });
    if (found.records.length === 0) throw notFound(NOT_FOUND);
    return { status: 200, body: { object: 'session', ...publicSession(found, id) } };
  };
