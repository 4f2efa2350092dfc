import { failureOf } from '#late/responses';
import { createEvents, type EventParts, type Events } from '#late/webhooks';
import type { Cancellations } from '../endpoints/cancellations.ts';
import type { Call, Endpoint } from '../endpoints/endpoint.ts';
import type { Meter } from '../metering/meter.ts';
import type { Json } from '../protocols/bytes/json.ts';
import { set, spliceText } from '../protocols/bytes/splice.ts';
import type { WebhookStore } from '../stores/webhook-store.ts';
import { apiError, invalidRequest, notFound } from '../support/errors.ts';
import { requestIdIn } from '../support/ids.ts';
import { followResponse } from './follow.ts';
import { readInput } from './history.ts';
import { readInclude, shownItem } from './include.ts';
import { objectsIn } from './items.ts';
import { createRespond, type RespondDeps } from './respond.ts';
import { createFind, type Found, keyOf, pack, withStore } from './stored.ts';

export type StateDeps = Omit<RespondDeps, 'find' | 'events'> & {
  openWebhooks(): WebhookStore;
  /** Whether webhooks reach this machine and its network. */
  mayReachInner: boolean;
  meter: Pick<Meter, 'admitFree'>;
  cancellations: Pick<Cancellations, 'cancel'>;
};

const responseNotFound = () =>
  notFound(
    'Response not found. It is of another project, was not stored, was deleted, or is expired.',
  );

const dead = () =>
  apiError(
    'The process that generated this response ended before it. The request is not charged; send it again.',
  );

const notInBackground = (what: string) =>
  invalidRequest(`Only a response with "background": true can be ${what}.`);

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/** One page of a list, as the vendor's SDKs read it. @throws ApiError 400 */
const pageOf = (items: Json[], query: Call['query']) => {
  const { limit = String(DEFAULT_LIMIT), order = 'desc', after } = query;
  const size = Number(limit);
  if (!Number.isInteger(size) || size < 1 || size > MAX_LIMIT) {
    throw invalidRequest(`limit: must be a whole number from 1 to ${MAX_LIMIT}.`, {
      param: 'limit',
    });
  }
  if (order !== 'asc' && order !== 'desc') {
    throw invalidRequest('order: must be asc or desc.', { param: 'order' });
  }
  const ordered = order === 'asc' ? items : items.toReversed();
  const start = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0) {
    throw invalidRequest('after: must be the id of an item of this list.', { param: 'after' });
  }
  const data = ordered.slice(start, start + size);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + size < ordered.length,
  };
};

/** @throws ApiError 400 */
const startingAfter = ({ starting_after: text = '-1' }: Call['query']): number => {
  if (/^-?\d{1,9}$/.test(text)) return Number(text);
  throw invalidRequest('starting_after: must be the sequence_number of an event.', {
    param: 'starting_after',
  });
};

/** The endpoints of stored responses. All but `respond` are free of quota. */
export const createState = (deps: StateDeps) => {
  const { responses, meter, cancellations, clock, keepMs } = deps;
  const find = createFind(responses, clock.now);

  /** Ends a running response with a status that its process did not reach. */
  const end = async (found: Found, fields: Json, isDead = false): Promise<void> => {
    const now = clock.now();
    const key = { key: found.key, expiresAt: now + keepMs };
    const json = JSON.stringify({ ...found.response, ...fields });
    const when = { now, ...(isDead && { deadAt: now }) };
    await withStore(() => responses.end(key, pack(json), when));
  };

  /** A response as it is now: of one whose process is dead, the first reader ends it. */
  const findNow = async (projectId: string, id: string): Promise<Found | undefined> => {
    const found = await find(projectId, id);
    if (!found?.leaseUntil || found.leaseUntil > clock.now()) return found;
    await end(found, { status: 'failed', error: failureOf(dead()) }, true);
    return find(projectId, id);
  };

  let opened: Events | undefined;
  /** A late part: only responses in the background have events. */
  const events = (): Events => {
    const readEnd: EventParts['readEnd'] = async ({ projectId, responseId }) => {
      const found = await findNow(projectId, responseId);
      if (found?.leaseUntil !== undefined) return 'running';
      return found && { status: found.response.status, endedAt: found.endedAt };
    };
    opened ??= createEvents({ ...deps, webhooks: deps.openWebhooks(), readEnd });
    return opened;
  };

  /** @throws ApiError 404, 429 or 503 */
  const open = async ({ caller, pathParameter: id = '' }: Call): Promise<Found> => {
    await meter.admitFree(caller);
    // A text of another form is looked up as well: how long that takes shows no difference.
    const found = await findNow(caller.projectId, id);
    if (!found) throw responseNotFound();
    return found;
  };

  /** Numbers stay as they were written. */
  const shownOf = ({ leaseUntil, hasBegun, response, text }: Found, { query }: Call): string => {
    const asked = readInclude(query);
    const isRunning = leaseUntil !== undefined && hasBegun;
    return spliceText(text, [
      ...(isRunning ? [set(['status'], 'in_progress')] : []),
      ...objectsIn(response.output).flatMap((item, index) => {
        const shown = shownItem(item, asked);
        return shown === item ? [] : [set(['output', index], shown)];
      }),
    ]);
  };

  const getResponse: Endpoint = async (call) => {
    const found = await open(call);
    if (call.query.stream !== 'true') return { status: 200, json: shownOf(found, call) };
    if (!found.isStream) throw notInBackground('streamed again; it also needs "stream": true');
    const again = () => findNow(call.caller.projectId, found.id);
    return followResponse(found, startingAfter(call.query), {
      call,
      deps: { responses, again, clock },
    });
  };

  const cancel = ({ caller }: Call, id: string) =>
    cancellations.cancel(caller, requestIdIn(id)).catch(() => undefined);

  const cancelResponse: Endpoint = async (call) => {
    const found = await open(call);
    if (!found.isBackground) throw notInBackground('cancelled');
    if (found.leaseUntil !== undefined) {
      await end(found, { status: 'cancelled' });
      await cancel(call, found.id);
    }
    return {
      status: 200,
      json: shownOf((await find(call.caller.projectId, found.id)) ?? found, call),
    };
  };

  const deleteResponse: Endpoint = async (call) => {
    const { caller, pathParameter: id = '' } = call;
    await meter.admitFree(caller);
    const found = await find(caller.projectId, id);
    // Also of one that is not found: an earlier removal may not have come to its end.
    const isRemoved = await withStore(() => responses.remove(keyOf(caller.projectId, id)));
    if (!isRemoved) throw responseNotFound();
    if (found?.leaseUntil !== undefined) await cancel(call, id);
    return { status: 200, body: { id, object: 'response', deleted: true } };
  };

  const listInputItems: Endpoint = async (call) => {
    const found = await open(call);
    const asked = readInclude(call.query);
    const reading = { find, projectId: call.caller.projectId };
    const items = await readInput(reading, found);
    const shown = items.map((item) => shownItem(item, asked));
    return { status: 200, body: pageOf(shown, call.query) };
  };

  const responding = createRespond({ ...deps, events, find });
  const repeatEvents = () => events().repeat();
  return {
    repeatEvents,
    ...responding,
    getResponse,
    cancelResponse,
    deleteResponse,
    listInputItems,
  };
};

export type State = ReturnType<typeof createState>;
