import type { Meter } from '../metering/meter.ts';
import { recordForCaller } from '../records/public-record.ts';
import type { RecordStore } from '../stores/record-store.ts';
import { apiError, notFound } from '../support/errors.ts';
import type { Endpoint } from './endpoint.ts';

const NOT_FOUND =
  'Request not found. The id is the x-request-id of a generation response of this project, of the last weeks; ' +
  'requests that were rejected or denied (401, 402, 429, most 400) are only counted.';

const unavailable = (cause: unknown) =>
  apiError('The records are unavailable.', { status: 503, headers: { 'retry-after': '1' }, cause });

/**
 * GET /v1/requests/{id}: what happened to a request of the key's project, free of quota. Another project's
 * request does not exist. @throws ApiError 404 or 503
 */
export const createExplainRequest =
  ({ meter, records }: { meter: Meter; records: Pick<RecordStore, 'findRecord'> }): Endpoint =>
  async ({ caller, pathParameter = '' }) => {
    await meter.admitFree(caller);
    const record = await records.findRecord(caller.projectId, pathParameter).catch((cause) => {
      throw unavailable(cause);
    });
    if (!record) throw notFound(NOT_FOUND);
    return { status: 200, body: recordForCaller(record) };
  };
