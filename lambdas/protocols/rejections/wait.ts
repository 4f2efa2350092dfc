import { resetIn, secondsIn } from '../../support/duration.ts';
import { secondsAsked } from '../../support/retry-after.ts';
import { asArray, asNumber, asRecord, asString, type Json } from '../bytes/json.ts';
import { innermost } from './provider-text.ts';

/** Seconds, next to an error's message: ChatGPT's plans, OpenRouter, and gateways. */
const WAITS = ['resets_in_seconds', 'retry_after_seconds', 'retry_after'];

const waitsOf = (record: Json, now: number): (number | undefined)[] => {
  const error = asRecord(record.error) ?? record;
  const metadata = asRecord(error.metadata);
  const delays = asArray(error.details).map((detail) => asString(asRecord(detail)?.retryDelay));
  const resetAt = resetIn(asString(asRecord(metadata?.headers)?.['X-RateLimit-Reset']), now);
  return [
    ...delays.map((delay) => secondsIn(delay ?? '')),
    ...[error, metadata].flatMap((holder) => WAITS.map((name) => asNumber(holder?.[name]))),
    resetAt && Math.max(0, resetAt - now) / 1_000,
  ];
};

/**
 * How long an error asks to wait: `22.1s` of Google's `RetryInfo`, a number of seconds, a time, or in words. First that of the
 * provider behind a gateway, then the gateway's.
 */
export const waitIn = (record: Json, [message = '']: string[], now: number): number | undefined =>
  [
    ...[innermost(record), record].flatMap((each) => waitsOf(each, now)),
    secondsAsked(message),
  ].find((seconds) => seconds !== undefined && seconds >= 0);
