import { createHash } from 'node:crypto';
import type { CheckedCall } from '../endpoints/check-call.ts';
import type { Call } from '../endpoints/endpoint.ts';
import type { Fingerprint } from '../stores/answer-store.ts';
import { type ApiError, DO_NOT_RETRY, invalidRequest } from '../support/errors.ts';

const PRINTABLE = /^[\x20-\x7e]{1,255}$/;
const EVENT_ID = /^(?<owner>[0-9A-Za-z]{1,24})-(?<event>\d{1,9})$/;

/** Where a repeated stream continues: behind this event of the response that `owner` generated. */
export type ResumePoint = { owner: string; event: number };

/** A request that may be a repeat, or be repeated. */
export type Attempt = {
  /** Hash of the meter and the idempotency key. */
  id: string;
  fingerprint: Fingerprint;
  resumePoint: ResumePoint | undefined;
};

const hash = (...parts: string[]): string =>
  createHash('sha256').update(parts.join('\n')).digest('hex');

/** @throws ApiError 400 */
const readResumePoint = (call: Call): ResumePoint | undefined => {
  const text = call.header('last-event-id');
  if (text === undefined) return undefined;
  const { owner, event } = EVENT_ID.exec(text)?.groups ?? {};
  if (owner !== undefined && event !== undefined) return { owner, event: Number(event) };
  throw invalidRequest('The header Last-Event-ID must be an event id of an earlier response.', {
    headers: DO_NOT_RETRY,
  });
};

/** Reads the request's idempotency key; undefined without one. @throws ApiError 400 */
export const readAttempt = ({ call, model }: CheckedCall): Attempt | undefined => {
  const key = call.header('idempotency-key');
  if (key === undefined) return undefined;
  if (!PRINTABLE.test(key)) {
    throw invalidRequest('The header Idempotency-Key must have 1 to 255 printable characters.', {
      headers: DO_NOT_RETRY,
    });
  }
  return {
    id: hash(call.caller.meterId, key),
    fingerprint: {
      route: call.protocol.name,
      model: model.id,
      // With the key, which is not stored: a short prompt could be guessed from a hash of it alone.
      body: hash(key, call.bodyDigest()),
    },
    resumePoint: readResumePoint(call),
  };
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
