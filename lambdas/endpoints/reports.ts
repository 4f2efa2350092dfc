/** Routes without a generation: a separate file in the bundle, since few processes serve them. */
import type { Catalog, Model, Target } from '../catalog/catalog.ts';
import { publicRetirement, retiredText, retirementHeaders } from '../catalog/retirement.ts';
import { publicSession, readSession } from '../history/read-session.ts';
import { mapStoreErrors } from '../metering/limits.ts';
import type { Meter } from '../metering/meter.ts';
import { findTurnBefore } from '../records/explain-cache.ts';
import { hashValue, type ReadWhoKey } from '../records/hash-who.ts';
import { recordForCaller } from '../records/public-record.ts';
import { publicRefused } from '../records/public-refused.ts';
import type { RecordStore } from '../stores/record-store.ts';
import { DAY_MS } from '../support/clock.ts';
import { invalidRequest, notFound, retryLater } from '../support/errors.ts';
import { requestIdIn } from '../support/ids.ts';
import { isEmpty, omitUndefined } from '../support/objects.ts';
import type { Cancellations } from './cancellations.ts';
import type { Endpoint } from './endpoint.ts';

export { createCountTokens } from './count-tokens.ts';
export { createGetUsage } from './quota-usage.ts';

type Metered = { meter: Meter };

/** Costs no quota; a key may call it so often a minute. */
const free =
  ({ meter }: Metered, endpoint: Endpoint): Endpoint =>
  async (call) => {
    await meter.admitFree(call.caller);
    return endpoint(call);
  };

// --- models ---

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

type Models = Metered & { catalog: Catalog };

/** GET /v1/models: one body that the pagers of every protocol's SDK read; the catalog is one page. */
export const createListModels = ({ catalog, ...parts }: Models): Endpoint =>
  free(parts, async ({ caller, startedAt }) => {
    const data = catalog.modelsFor(caller.plan, startedAt).map(publicModel);
    const page = {
      has_more: false,
      first_id: data.at(0)?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    };
    return { status: 200, body: { object: 'list', data, ...page } };
  });

/** GET /v1/models/{id}; the slash of the id may be percent-encoded. @throws ApiError 404 */
export const createGetModel = ({ catalog, ...parts }: Models): Endpoint =>
  free(parts, async ({ caller, pathParameter = '', startedAt }) => {
    const asked = catalog.find(pathParameter, caller.plan);
    const model = asked && catalog.answering(asked, startedAt);
    if (model) {
      return { status: 200, headers: retirementHeaders(asked, model), body: publicModel(model) };
    }
    const text = asked ? retiredText(asked) : catalog.unknownText(pathParameter);
    throw notFound(text, { code: 'model_not_found', param: 'model' });
  });

// --- requests ---

/** POST /v1/requests/{id}/cancel: ends a running generation of the key's project. @throws ApiError 404 or 503 */
export const createCancel = ({
  cancellations,
  ...parts
}: Metered & { cancellations: Cancellations }): Endpoint =>
  free(parts, async ({ caller, pathParameter = '' }) => {
    const id = requestIdIn(pathParameter);
    const status = await mapStoreErrors(() => cancellations.cancel(caller, id));
    if (!status) throw notFound('No running generation of this project has this id.');
    return { status: status === 'cancelled' ? 200 : 202, body: { id, object: 'request', status } };
  });

/** @throws ApiError 503 */
const readRecords = <Found>(read: () => Promise<Found>): Promise<Found> =>
  read().catch((cause) => {
    throw retryLater('The records are unavailable.', cause);
  });

const NO_REQUEST =
  'Request not found. The id is the x-request-id or the id of a response of this project, of the last weeks, of a refused ' +
  'request the last seven days; of many refusals in a minute, the first ten of a key are kept.';

/**
 * GET /v1/requests/{id}: what happened to a request of the key's project. Another project's request does not exist.
 * @throws ApiError 404 or 503
 */
export const createExplainRequest = ({
  records,
  ...parts
}: Metered & {
  records: Pick<RecordStore, 'findRecord' | 'findSealKey' | 'findRefused' | 'listRecords'>;
}): Endpoint =>
  free(parts, async ({ caller: { projectId }, pathParameter = '' }) => {
    const id = requestIdIn(pathParameter);
    const found = await readRecords(async () => {
      const record = await records.findRecord(projectId, id);
      if (record) return recordForCaller(record, await findTurnBefore(records, record));
      const refused = await records.findRefused(projectId, id);
      return refused && publicRefused(refused);
    });
    if (!found) throw notFound(NO_REQUEST);
    return { status: 200, body: found };
  });

// --- sessions ---

const DEFAULT_DAYS = 7;
const MAX_DAYS = 35;

const NO_SESSION =
  'Session not found among the latest 10,000 requests of this project and the days that were asked for (days=7). ' +
  'The id is what the client sends, such as x-router-session or x-claude-code-session-id.';

/** @throws ApiError 400 */
const daysIn = (text = String(DEFAULT_DAYS)): number => {
  const days = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (days >= 1 && days <= MAX_DAYS) return days;
  throw invalidRequest(`days: must be a whole number from 1 to ${MAX_DAYS}.`, { param: 'days' });
};

/**
 * GET /v1/sessions/{id}: what a session of the key's project used and cost. Another project's session does not exist.
 * @throws ApiError 400, 404 or 503
 */
export const createExplainSession = ({
  records,
  readWhoKey,
  ...parts
}: Metered & {
  records: Pick<RecordStore, 'listRecords'>;
  readWhoKey: ReadWhoKey | undefined;
}): Endpoint =>
  free(parts, async ({ caller: { projectId }, pathParameter: id = '', query, startedAt }) => {
    const range = { from: startedAt - daysIn(query.days) * DAY_MS, to: startedAt + DAY_MS };
    const found = await readRecords(async () => {
      const session = await hashValue(id, projectId, readWhoKey);
      return readSession(records, { projectId, session, ...range });
    });
    if (found.records.length === 0) throw notFound(NO_SESSION);
    return { status: 200, body: { object: 'session', ...publicSession(found, id) } };
  });
