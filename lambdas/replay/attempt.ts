import { createHash } from 'node:crypto';
import type { CheckedCall } from '../endpoints/check-call.ts';
import type { Call } from '../endpoints/endpoint.ts';
import type { Fingerprint } from '../stores/answer-store.ts';
import { sha256Of } from '../support/bytes.ts';
import { MINUTE_MS } from '../support/clock.ts';
import { type ApiError, DO_NOT_RETRY, invalidRequest } from '../support/errors.ts';

const PRINTABLE = /^[\x20-\x7e]{1,255}$/;
const EVENT_ID = /^([0-9A-Za-z]{1,24})-(\d{1,9})$/;

/** Where a repeated stream continues: behind this event of the response that `owner` generated. */
export type ResumePoint = { owner: string; event: number };

/** A request that may be a repeat, or be repeated. */
export type Attempt = {
  /** Hash of the meter and the idempotency key. */
  id: string;
  fingerprint: Fingerprint;
  hasEventIds: boolean;
  /** Known not to be a repeat: it runs even if an equal request did. */
  isFirst: boolean;
  /** How long its response is kept, in ms; undefined: as long as the deployment keeps them. */
  keepMs: number | undefined;
  resumePoint: ResumePoint | undefined;
};

const hash = (...parts: string[]): string =>
  createHash('sha256').update(parts.join('\n')).digest('hex');

/** @throws ApiError 400 */
const readResumePoint = (call: Call): ResumePoint | undefined => {
  const text = call.header('last-event-id');
  if (text === undefined) return undefined;
  const match = EVENT_ID.exec(text);
  if (!match) {
    throw invalidRequest('The header Last-Event-ID must be an event id of an earlier response.', {
      headers: DO_NOT_RETRY,
    });
  }
  const [, owner = '', event] = match;
  return { owner, event: Number(event) };
};

/** @throws ApiError 400 */
const checkKey = (key: string, { caller }: Call): void => {
  if (caller.plan.replay === 'off') {
    throw invalidRequest('The plan of this key keeps no responses: do not send Idempotency-Key.', {
      headers: DO_NOT_RETRY,
    });
  }
  if (PRINTABLE.test(key)) return;
  throw invalidRequest('The header Idempotency-Key must have 1 to 255 printable characters.', {
    headers: DO_NOT_RETRY,
  });
};

/** @throws ApiError 400 */
const readKeyed = ({ call, model }: CheckedCall, key: string): Attempt => {
  checkKey(key, call);
  return {
    id: hash(call.caller.meterId, key),
    fingerprint: {
      route: call.protocol.name,
      model: model.id,
      // With the key, which is not stored: a short prompt could be guessed from a hash of it alone.
      body: hash(key, sha256Of(call.source.raw)),
    },
    hasEventIds: true,
    isFirst: false,
    keepMs: undefined,
    resumePoint: readResumePoint(call),
  };
};

/** Longer than the official SDKs retry. */
const RETRIES_KEPT_MS = 10 * MINUTE_MS;

/** A request whose SDK may repeat it, recognized by API key, route and bytes of the body. */
const readRetried = ({ call, model }: CheckedCall): Attempt => {
  const count = call.header('x-stainless-retry-count');
  const { name: route } = call.protocol;
  const body = hash(call.caller.keyId, sha256Of(call.source.raw));
  return {
    id: hash('retries', route, model.id, body),
    fingerprint: { route, model: model.id, body },
    hasEventIds: false,
    isFirst: !(Number(count) > 0),
    keepMs: RETRIES_KEPT_MS,
    resumePoint: undefined,
  };
};

/** Reads what identifies a request and its repeats: its key, or what an SDK sends with each attempt. @throws ApiError 400 */
export const readAttempt = (checked: CheckedCall): Attempt => {
  const key = checked.call.header('idempotency-key');
  return key === undefined ? readRetried(checked) : readKeyed(checked, key);
};

const NAMES = { route: 'route', model: 'model', body: 'request body' } as const;

const keyReused = (difference: keyof Fingerprint): ApiError =>
  invalidRequest(
    `This Idempotency-Key was used with another ${NAMES[difference]}. Use a new key for a new request.`,
    { status: 422, headers: DO_NOT_RETRY, code: 'idempotency_key_reused' },
  );

/** @throws ApiError 422 that names the first difference */
export const assertSameRequest = (first: Fingerprint, repeat: Fingerprint): void => {
  for (const part of ['route', 'model', 'body'] as const) {
    if (first[part] !== repeat[part]) throw keyReused(part);
  }
};
