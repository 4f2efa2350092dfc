import type { Meter } from '../metering/meter.ts';
import { findTurnBefore } from '../records/explain-cache.ts';
import { recordForCaller } from '../records/public-record.ts';
import { publicRefused } from '../records/public-refused.ts';
import type { RecordStore } from '../stores/record-store.ts';
import { notFound, retryLater } from '../support/errors.ts';
import type { Endpoint } from './endpoint.ts';

const NOT_FOUND =
  'Request not found. The id is the x-request-id of a response of this project, of the last weeks, of a refused ' +
  'request the last seven days; of many refusals in a minute, the first ten of a key are kept.';

type Parts = {
  meter: Meter;
  records: Pick<RecordStore, 'findRecord' | 'findSealKey' | 'findRefused' | 'listRecords'>;
};

/**
 * GET /v1/requests/{id}: what happened to a request of the key's project, free of quota. Another project's
 * request does not exist. @throws ApiError 404 or 503
 */
export const createExplainRequest =
  ({ meter, records }: Parts): Endpoint =>
  async ({ caller, pathParameter = '' }) => {
    await meter.admitFree(caller);
    const { projectId } = caller;
    const read = async () => {
      const record = await records.findRecord(projectId, pathParameter);
      if (record) return recordForCaller(record, await findTurnBefore(records, record));
      const refused = await records.findRefused(projectId, pathParameter);
      return refused && publicRefused(refused);
    };
    const found = await read().catch((cause) => {
      throw retryLater('The records are unavailable.', cause);
    });
    if (!found) throw notFound(NOT_FOUND);
    return { status: 200, body: found };
  };
