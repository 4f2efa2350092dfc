import { mapStoreErrors } from '../metering/limits.ts';
import type { Meter } from '../metering/meter.ts';
import { notFound } from '../support/errors.ts';
import type { Cancellations } from './cancellations.ts';
import type { Endpoint } from './endpoint.ts';

const REQUEST_ID = /^req_[0-9A-Za-z]{24}$/;

/** POST /v1/requests/{id}/cancel: ends a running generation of the key's project, free of quota. */
export const createCancel =
  ({ cancellations, meter }: { cancellations: Cancellations; meter: Meter }): Endpoint =>
  async ({ caller, pathParameter: id = '' }) => {
    await meter.admitFree(caller);
    const isCancelled =
      REQUEST_ID.test(id) &&
      (await mapStoreErrors(() => cancellations.cancel(caller.projectId, id)));
    if (!isCancelled) throw notFound('No running generation of this project has this id.');
    return { status: 200, body: { id, object: 'request', status: 'cancelled' } };
  };
