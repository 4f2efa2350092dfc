import type { Meter } from '../metering/meter.ts';
import { findTurnBefore } from '../records/explain-cache.ts';
import { recordForCaller } from '../records/public-record.ts';
import type { RecordStore } from '../stores/record-store.ts';
import { apiError, notFound } from '../support/errors.ts';
import type { Endpoint } from './endpoint.ts';

const NOT_FOUND =
  'Request not found. The id is the x-request-id of a generation response of this project, of the last weeks; ' +
  'requests that were rejected or denied (401, 402, 429, most 400) are only counted.';

const unavailable = (cause: unknown) =>
  apiError('The records are unavailable.', { status: 503, headers: { 'retry-after': '1' }, cause });

type Parts = { meter: Meter; records: Pick<RecordStore, 'findRecord' | 'listRecords'> };

/**
 * GET /v1/requests/{id}: what happened to a request of the key's project, free of quota. Another project's
 * request does not exist. @throws ApiError 404 or 503
 */
export const createExplainRequest =
  ({ meter, records }: Parts): Endpoint =>
  async ({ caller, pathParameter = '' }) => {
    await meter.admitFree(caller);
    const read = async () => {
      const record = await records.findRecord(caller.projectId, pathParameter);
      return record && { record, before: await findTurnBefore(records, record) };
    };
    const found = await read().catch((cause) => {
      throw unavailable(cause);
    });
    if (!found) throw notFound(NOT_FOUND);
    return { status: 200, body: recordForCaller(found.record, found.before) };
  };
