import type { Catalog } from '../catalog/catalog.ts';
import type { Meter } from '../metering/meter.ts';
import type { Endpoint } from './endpoint.ts';
import { publicModel } from './public-model.ts';

/** GET /v1/models: one body that both families' pagers read; the catalog is one page. */
export const createListModels =
  ({ catalog, meter }: { catalog: Catalog; meter: Meter }): Endpoint =>
  async ({ caller }) => {
    await meter.admitFree(caller);
    const data = catalog.modelsFor(caller.plan).map(publicModel);
    const page = {
      has_more: false,
      first_id: data.at(0)?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    };
    return { status: 200, body: { object: 'list', data, ...page } };
  };
