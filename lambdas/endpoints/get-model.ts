import { type Catalog, unknownModelText } from '../catalog/catalog.ts';
import type { Meter } from '../metering/meter.ts';
import { notFound } from '../support/errors.ts';
import type { Endpoint } from './endpoint.ts';
import { publicModel } from './public-model.ts';

/** GET /v1/models/{id}, the slash of the id plain or percent-encoded. */
export const createGetModel =
  ({ catalog, meter }: { catalog: Catalog; meter: Meter }): Endpoint =>
  async ({ caller, pathParameter = '' }) => {
    await meter.admitFree(caller);
    const model = catalog.find(pathParameter, caller.plan);
    if (!model) throw notFound(unknownModelText(pathParameter));
    return { status: 200, body: publicModel(model) };
  };
