import type { ResponseHead } from '../http-client/response-head.ts';
import type { HeaderMap } from '../protocols/protocol.ts';
import type { ProviderLimit } from '../protocols/provider-limits.ts';
import { beforeEcho } from '../protocols/rejections/echo.ts';
import { interpretErrorBody, interpretSentError } from '../protocols/rejections/error-body.ts';
import { readTexts } from '../protocols/rejections/provider-text.ts';
import { BILLING_LINE, differenceIn } from '../protocols/rejections/read-difference.ts';
import { type Confidential, cleanReason } from '../protocols/rejections/reason.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import type { Clock } from '../support/clock.ts';
import { resetIn, sentAt } from '../support/duration.ts';
import { NUMBER, retryAfterSeconds } from '../support/retry-after.ts';
import { type Chunks, readShortBody } from './response-body.ts';

const reasonOf = (words: string | undefined, confidential: Confidential): string | undefined =>
  words === undefined ? undefined : cleanReason(words, confidential);

/** Of a rejection: it names a difference at once, or quotes the request. */
const MAX_WORDS = 1_000;

/**
 * The provider's own words: what it quotes of a request shows no difference of its model. The name of an agent's billing line
 * is one of them, though the request has it, too.
 */
const ownWords = (words: string | undefined, { request }: Confidential): string | undefined =>
  words === undefined
    ? undefined
    : beforeEcho(
        words.slice(0, MAX_WORDS).replace('x-anthropic-billing-header', BILLING_LINE),
        request,
      );

/** Returns the error with what the upstream sent about it inside a 200 response; any other unchanged. */
export const readSentError = (
  error: unknown,
  {
    clock,
    credentialVersion,
    confidential,
  }: Pick<ErrorContext, 'clock' | 'credentialVersion'> & { confidential(): Confidential },
): unknown => {
  if (!(error instanceof UpstreamError) || error.sent === undefined) return error;
  // The last message of a stream without an end is its reason if it has an error's text, as FastAPI's `detail`.
  if (error.kind === 'truncated' && readTexts(error.sent).messages.length === 0) return error;
  const {
    words,
    paths = [],
    kind = error.kind,
    ...meaning
  } = interpretSentError(error.sent, clock.now());
  return new UpstreamError(kind, error.message, {
    ...meaning,
    credentialVersion,
    rejectedPaths: paths,
    reason: reasonOf(words, confidential()),
  });
};

/** The one limit that GitHub, Together and gateways send, without a word of what it is. */
const namelessLimits = (headers: HeaderMap, now: number) =>
  ['x-ratelimit', 'ratelimit'].map((name) => ({
    remaining: Number(headers[`${name}-remaining`]),
    resetAt: resetIn(headers[`${name}-reset`], now),
  }));

/** Seconds until the last of the used-up limits has room again. */
const untilReset = (limits: ProviderLimit[], headers: HeaderMap, now: number) => {
  const resets = [...limits, ...namelessLimits(headers, now)].flatMap(
    ({ remaining, resetAt }) => (remaining === 0 && resetAt) || [],
  );
  return resets.length === 0 ? undefined : Math.max(0, Math.max(...resets) - now) / 1_000;
};

/**
 * How long a refusal asks to wait: in milliseconds (Azure, and the SDKs of OpenAI and Anthropic), in seconds, as a date, in
 * its body (Google's `RetryInfo`), or by the limit that is used up.
 */
const retryAfterOf = (
  headers: HeaderMap,
  parts: Pick<ErrorContext, 'limits'> & { status: number; inBody: number | undefined; now: number },
): number | undefined => {
  const { status, inBody, limits = [], now } = parts;
  const ms = headers['retry-after-ms'];
  if (ms !== undefined && NUMBER.test(ms)) return Number(ms) / 1_000;
  const asked = retryAfterSeconds(headers['retry-after'], now) ?? inBody;
  return asked ?? (status === 429 ? untilReset(limits, headers, now) : undefined);
};

/** llama.cpp's 500 of messages that a model's template rejects. */
const TEMPLATE = /jinja exception|raise_exception/i;

/** The others of 3xx name no other address; a 304 is the mistake of a cache. */
const REDIRECTS = [301, 302, 303, 307, 308];

/** Statuses of a request that another form may pass with. */
const REJECTED = [400, 422];

export type ErrorContext = {
  clock: Clock;
  limits: ProviderLimit[] | undefined;
  credentialVersion: string;
  confidential: Confidential;
};

/** Returns the error of a response whose status is not 2xx. */
export const readError = async (
  { status: stated, headers }: ResponseHead,
  chunks: Chunks,
  { clock, limits, credentialVersion, confidential }: ErrorContext,
): Promise<UpstreamError> => {
  if (REDIRECTS.includes(stated)) {
    return new UpstreamError('redirect', 'the upstream redirects', { status: stated });
  }
  const body = await readShortBody(chunks, clock);
  const now = sentAt(headers.date, clock.now());
  const status = stated === 500 && TEMPLATE.test(body) ? 400 : stated;
  const { words, param, paths, ...meaning } = interpretErrorBody(status, body, now);
  const isNamed = param === undefined || words?.includes(param);
  return new UpstreamError(meaning.kind, `the upstream returned ${stated}`, {
    status,
    credentialVersion,
    overflow: meaning.overflow,
    rejectedPaths: paths,
    isAboutInput: meaning.isAboutInput,
    difference: REJECTED.includes(status)
      ? differenceIn(
          ownWords(isNamed ? words : `${param}: ${words}`, confidential),
          confidential.request,
        )
      : undefined,
    reason: reasonOf(words, confidential),
    retryAfterSeconds: retryAfterOf(headers, {
      ...{ status, limits, now },
      inBody: meaning.retryAfterSeconds,
    }),
  });
};
