import type { Catalog } from '../catalog/catalog.ts';
import type { Meter } from '../metering/meter.ts';
import { notFound } from '../support/errors.ts';
import type { Endpoint } from './endpoint.ts';
import { publicModel } from './public-model.ts';

/** Longest part of a caller's text that an error repeats. */
const ECHO_LIMIT = 100;

/** GET /v1/models/{id}, the slash of the id plain or percent-encoded. */
export const createGetModel =
  ({ catalog, meter }: { catalog: Catalog; meter: Meter }): Endpoint =>
  async ({ caller, pathParameter = '' }) => {
    await meter.admitFree(caller);
    const model = catalog.find(pathParameter, caller.plan);
    if (!model) throw notFound(`The model '${pathParameter.slice(0, ECHO_LIMIT)}' does not exist.`);
    return { status: 200, body: publicModel(model) };
  };
