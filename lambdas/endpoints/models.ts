import type { Catalog, Model, Target } from '../catalog/catalog.ts';
import { publicRetirement, retiredText, retirementHeaders } from '../catalog/retirement.ts';
import type { Meter } from '../metering/meter.ts';
import { notFound } from '../support/errors.ts';
import { isEmpty, omitUndefined } from '../support/omit-undefined.ts';
import type { Endpoint } from './endpoint.ts';

/** What the model's first target accepts, as far as its profile states it. */
const reasoningOf = (target: Target | undefined) => {
  const { thinking: forms, effort: efforts } = target?.profile ?? {};
  const reasoning = omitUndefined({ forms, efforts });
  return isEmpty(reasoning) ? {} : { reasoning };
};

/**
 * Returns the fields that the SDKs of every protocol and the model discovery of agents read. Aliases are
 * left out: a client that lists models would offer one model several times.
 */
const publicModel = ({ targets: [first], aliases: _, ...model }: Model) => ({
  ...model,
  ...publicRetirement(model),
  ...reasoningOf(first),
  object: 'model',
  type: 'model',
  created_at: new Date(model.created * 1000).toISOString(),
  max_input_tokens: model.context_length,
  max_tokens: model.max_output_tokens,
});

/** GET /v1/models: one body that the pagers of every protocol's SDK read; the catalog is one page. */
export const createListModels =
  ({ catalog, meter }: { catalog: Catalog; meter: Meter }): Endpoint =>
  async ({ caller, startedAt }) => {
    await meter.admitFree(caller);
    const data = catalog.modelsFor(caller.plan, startedAt).map(publicModel);
    const page = {
      has_more: false,
      first_id: data.at(0)?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    };
    return { status: 200, body: { object: 'list', data, ...page } };
  };

/** GET /v1/models/{id}; the slash of the id may be percent-encoded. @throws ApiError 404 */
export const createGetModel =
  ({ catalog, meter }: { catalog: Catalog; meter: Meter }): Endpoint =>
  async ({ caller, pathParameter = '', startedAt }) => {
    await meter.admitFree(caller);
    const asked = catalog.find(pathParameter, caller.plan);
    const model = asked && catalog.answering(asked, startedAt);
    if (model) {
      return { status: 200, headers: retirementHeaders(asked, model), body: publicModel(model) };
    }
    const text = asked ? retiredText(asked) : catalog.unknownText(pathParameter);
    throw notFound(text, { code: 'model_not_found', param: 'model' });
  };
