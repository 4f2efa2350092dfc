import { mapStoreErrors } from '../metering/limits.ts';
import type { Meter } from '../metering/meter.ts';
import { notFound } from '../support/errors.ts';
import type { Cancellations } from './cancellations.ts';
import type { Endpoint } from './endpoint.ts';

/** POST /v1/requests/{id}/cancel: ends a running generation of the key's project, free of quota. */
export const createCancel =
  ({ cancellations, meter }: { cancellations: Cancellations; meter: Meter }): Endpoint =>
  async ({ caller, pathParameter: id = '' }) => {
    await meter.admitFree(caller);
    const status = await mapStoreErrors(() => cancellations.cancel(caller, id));
    if (!status) throw notFound('No running generation of this project has this id.');
    return { status: status === 'cancelled' ? 200 : 202, body: { id, object: 'request', status } };
  };
