import { responseId, responseOf } from '#late/responses';
import type { Call, Reply } from '../endpoints/endpoint.ts';
import {
  asRecord,
  asString,
  type Json,
  type JsonSource,
  readJsonObject,
} from '../protocols/bytes/json.ts';
import { FREE, outlineOf } from '../protocols/bytes/outline.ts';
import type { StateMode } from '../stores/plan-store.ts';
import type { ResponseKey } from '../stores/response-store.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import { DO_NOT_RETRY, invalidRequest } from '../support/errors.ts';
import { suffixOf } from '../support/ids.ts';
import { parseWire } from '../support/schema.ts';
import { type BackgroundDeps, startJob } from './background.ts';
import { type History, readConversation } from './history.ts';
import { inputItems, isReference, listOf, objectsIn } from './items.ts';
import { createStateKeeper } from './keep.ts';
import { Asked, type Marks } from './mark.ts';
import { type FindResponse, keyOf, pack } from './stored.ts';

/** What a request asks of the state. */
type Asks = {
  /** Id of the response that it continues. */
  previous: string | undefined;
  isBackground: boolean;
  isStored: boolean;
};

/** Undefined of a request that is complete in itself. @throws ApiError 400 */
const readAsks = (
  { body }: Pick<Call, 'body'>,
  mode: Exclude<StateMode, 'off'>,
): Asks | undefined => {
  const { previous_response_id: id, background, store } = parseWire(Asked, body);
  const [previous, isBackground] = [id || undefined, background === true];
  const isStored = store ?? (mode === 'default' || isBackground);
  const isAsked = isStored || isBackground || previous !== undefined;
  return isAsked || objectsIn(asRecord(body)?.input).some(isReference)
    ? { previous, isBackground, isStored }
    : undefined;
};

export type RespondDeps = BackgroundDeps & { find: FindResponse; keepMs: number };

/** As large as a body may be. */
const MAX_LENGTH = 5_500_000;

const tooLarge = () =>
  invalidRequest(
    'The stored conversation is larger than 5.5 MB. Send a shorter one in input, without previous_response_id.',
    { status: 413 },
  );

const sourceOf = (value: Json): JsonSource => {
  const text = JSON.stringify(value);
  if (text.length > MAX_LENGTH) throw tooLarge();
  return { raw: text, bytes: Buffer.byteLength(text), nodes: outlineOf(text, FREE).nodes, value };
};

/** The request as if it held its whole conversation: no provider gets to see the state. */
const expand = (
  call: Call,
  { previous_response_id: _, background: __, background_options: options, ...rest }: Json,
  { items, isWhole }: History,
  asks: Asks,
): Pick<Call, 'body' | 'source'> => {
  const removed = options == null ? [] : ['background_options'];
  const body = {
    ...{ ...rest, store: false },
    ...(!isWhole && { input: items }),
    ...(asks.isBackground && { stream: true }),
  };
  return {
    body,
    source: { ...sourceOf(body), removed: [...(call.source.removed ?? []), ...removed] },
  };
};

/** @throws ApiError 400 */
const checkBackground = ({ header }: Call, { isStored }: Asks): void => {
  if (!isStored) {
    throw invalidRequest('background: requires store to be true, as its response is read later.', {
      param: 'background',
    });
  }
  if (header('idempotency-key') === undefined) return;
  throw invalidRequest(
    'background: must be sent without Idempotency-Key. Its response has an id from the start.',
    {
      param: 'background',
      headers: DO_NOT_RETRY,
    },
  );
};

/** Of retries, of which a background response is none. */
const withoutRetries =
  ({ header }: Call): Call['header'] =>
  (name) =>
    name.startsWith('x-stainless-retry') ? undefined : header(name);

/** `POST /v1/responses` of a request that uses the state. @throws ApiError 400, 404, 413, 503, and what a generation throws */
export const createRespond = (deps: RespondDeps) => {
  const { responses, find, generate, clock, log, keepMs } = deps;

  const storeOf =
    (call: Call, own: { input: string; before: string[] }) => async (json: string) => {
      const id = asString(readJsonObject(json)?.id) ?? '';
      const key = { key: keyOf(call.caller.projectId, id), expiresAt: clock.now() + keepMs };
      const state = {
        leaseUntil: undefined,
        hasBegun: true,
        isBackground: false,
        isStream: false,
        pieces: 0,
      };
      const stored = { ...state, before: own.before, input: pack(own.input), response: pack(json) };
      try {
        return await responses.create(key, stored);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        log.warn('answer_not_stored', { requestId: call.requestId });
        return false;
      }
    };

  const queue = (
    call: Call,
    marks: Marks,
    isStream: boolean,
    own: { input: string; before: string[] },
  ): Promise<Reply> => {
    const request = call.protocol.decodeRequest(call.body, call.headers);
    const created = Math.floor(clock.now() / 1000);
    const ids = { id: suffixOf(call.requestId), model: request.model };
    const meta = { ...ids, created, now: () => created, estimateInput: () => 0 };
    const key: ResponseKey = {
      key: keyOf(call.caller.projectId, responseId(meta)),
      expiresAt: clock.now() + keepMs,
    };
    const queued = responseOf({ request, meta }, { status: 'queued', ...marks });
    return startJob({ key, call, queued, isStream, ...own }, deps);
  };

  /** The request with its whole conversation, and the responses before it. */
  const readWhole = async (received: Call, asks: Asks) => {
    const fields = asRecord(received.body) ?? {};
    const reading = { find, projectId: received.caller.projectId };
    const history = await readConversation(reading, asks.previous, listOf(fields.input));
    const call: Call = { ...received, ...expand(received, fields, history, asks) };
    return { call, fields, before: history.before };
  };

  const respond = async ({ confirm, ...received }: Call, asks: Asks): Promise<Reply> => {
    const { requestId, protocol } = received;
    if (asks.isBackground) checkBackground(received, asks);
    await confirm?.();
    const { call, fields, before } = await readWhole(received, asks);
    const marks = {
      store: asks.isStored,
      previous_response_id: asks.previous ?? null,
      background: asks.isBackground,
    };
    const own = { input: JSON.stringify(inputItems(fields.input, requestId)), before };
    const parts = { marks, protocol, store: storeOf(call, own) };
    if (!asks.isBackground) {
      return generate({ ...call, keepWith: (next) => createStateKeeper(parts, next) });
    }
    // Stored by the job.
    const unstored = { ...parts, store: async () => true };
    const detached: Call = {
      ...call,
      signal: new AbortController().signal,
      header: withoutRetries(call),
      keepWith: (next) => createStateKeeper(unstored, next),
    };
    return queue(detached, marks, fields.stream === true, own);
  };
  return {
    respond: async (call: Call, mode: Exclude<StateMode, 'off'>): Promise<Reply> => {
      const asks = readAsks(call, mode);
      return asks ? respond(call, asks) : generate(call);
    },
    /** A request as a count reads it. @throws ApiError 400, 404, 413, 503 */
    whole: async (call: Call, mode: Exclude<StateMode, 'off'>): Promise<Call> => {
      const asks = readAsks(call, mode);
      return asks ? (await readWhole(call, asks)).call : call;
    },
  };
};
