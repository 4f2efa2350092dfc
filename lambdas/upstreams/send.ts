import { isAscii } from 'node:buffer';
import { moveStrings } from '#late/encoders';
import { readError, readSentError } from '#late/read-error';
import { createConnectionPools } from '../http-client/connections.ts';
import { asRecord, type Json, type JsonSource } from '../protocols/bytes/json.ts';
import { splice } from '../protocols/bytes/splice.ts';
import {
  credentialOf,
  type HeaderMap,
  type WireTarget,
  wireTargetOf,
} from '../protocols/protocol.ts';
import type { ProviderLimit } from '../protocols/provider-limits.ts';
import type { Confidential } from '../protocols/rejections/reason.ts';
import { isRefusal, UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { sentRequest } from '../protocols/thinking/origin.ts';
import { type Bytes, encodePieces, sha256Of, sizeOf } from '../support/bytes.ts';
import type { Clock } from '../support/clock.ts';
import { resetIn, sentAt } from '../support/duration.ts';
import { post } from './post.ts';
import { readAnswer, STREAM_TYPE } from './read-answer.ts';
import { CONNECT_MS, firstEventMs } from './response-body.ts';
import type { RoleSigner, UnsignedRequest } from './role-signer.ts';
import type { Credential } from './secrets.ts';
import type { EventBatches, UpstreamCall } from './upstream.ts';

/** As many entries as the catalog has targets, times the paths of a protocol. */
const urls = new Map<string, URL>();

/** URL of a target: `path` below its base URL; the queries of both are kept. */
export const urlOf = (baseUrl: string, path: string): URL => {
  const name = `${baseUrl} ${path}`;
  const known = urls.get(name);
  if (known) return known;
  const url = new URL(baseUrl);
  const [pathname = '', query] = path.split('?');
  url.pathname = url.pathname.replace(/\/$/, '') + pathname;
  if (query !== undefined) url.search += url.search === '' ? query : `&${query}`;
  urls.set(name, url);
  return url;
};

/** Bytes of a body of which the long strings are worth finding. */
const LARGE_BODY = 24_576;

/** V8 writes and encodes ASCII faster than its strings are found. */
const isWide = ({ raw }: JsonSource): boolean => typeof raw === 'string' || !isAscii(raw);

/** Returns an object's JSON; of a large body, unless it is ASCII, with the long strings as its caller sent them. */
export const encodeJson = (value: Json, source?: JsonSource): Bytes =>
  source && source.bytes >= LARGE_BODY && isWide(source)
    ? moveStrings(value, source)
    : encodePieces([JSON.stringify(value)]);

type Row = Pick<ProviderLimit, 'of' | 'per'> & Record<'remaining' | 'limit' | 'reset', string>;

const row = (of: Row['of'], per: Row['per'], pattern: string): Row => ({
  ...{ of, per },
  remaining: pattern.replace('*', 'remaining'),
  limit: pattern.replace('*', 'limit'),
  reset: pattern.replace('*', 'reset'),
});

const WINDOWS = ['minute', 'hour', 'day'] as const;

/** Anthropic; OpenAI, Azure, Groq and others; Cerebras; Mistral. */
const ROWS: readonly Row[] = [
  row('requests', 'minute', 'anthropic-ratelimit-requests-*'),
  row('tokens', 'minute', 'anthropic-ratelimit-tokens-*'),
  row('input', 'minute', 'anthropic-ratelimit-input-tokens-*'),
  row('output', 'minute', 'anthropic-ratelimit-output-tokens-*'),
  row('requests', 'minute', 'x-ratelimit-*-requests'),
  row('tokens', 'minute', 'x-ratelimit-*-tokens'),
  ...WINDOWS.flatMap((per) => [
    row('requests', per, `x-ratelimit-*-requests-${per}`),
    row('tokens', per, `x-ratelimit-*-tokens-${per}`),
  ]),
  row('requests', 'minute', 'x-ratelimit-*-req-minute'),
];

/** The same name with another window: at Groq requests without a window are those of the day. */
const DAILY_REQUESTS = /(?:^|\.)groq\.com$/;

/** Azure sends -1 for what it does not limit. */
const COUNT = /^\d{1,15}$/;
const countIn = (value: string | undefined): number | undefined =>
  value !== undefined && COUNT.test(value) ? Number(value) : undefined;

/** The limits that a response names, of whichever status; undefined if it names none. */
export const readLimits = (
  headers: HeaderMap,
  { hostname, now }: { hostname: string; now: number },
): ProviderLimit[] | undefined => {
  const at = sentAt(headers.date, now);
  let limits: ProviderLimit[] | undefined;
  for (const names of ROWS) {
    const remaining = countIn(headers[names.remaining]);
    if (remaining === undefined) continue;
    const isDaily =
      names.remaining === 'x-ratelimit-remaining-requests' && DAILY_REQUESTS.test(hostname);
    limits ??= [];
    limits.push({
      ...{ of: names.of, per: isDaily ? 'day' : names.per, remaining },
      limit: countIn(headers[names.limit]),
      resetAt: resetIn(headers[names.reset], at),
    });
  }
  return limits;
};

/** Stands for the version of the role's credentials, which AWS replaces before they expire. */
export const ROLE_VERSION = 'role';

const encodeBody = ({ request, protocol, source }: UpstreamCall, target: WireTarget) => {
  const sent = sentRequest(request);
  const received = asRecord(source?.value);
  const edits = received && protocol.editsOf?.(sent, target, received);
  if (source && edits) return { wire: received, body: splice(source, edits) };
  const wire = protocol.encodeRequest(sent, target);
  return { wire, body: encodeJson(wire, source) };
};

/**
 * What an error's text must not contain. The model's name may stay: it is the catalog's, and often the cause. So may
 * the vendor's names of what a response includes.
 */
const confidentialOf = (
  { model: _, include: _names, ...request }: Record<string, unknown>,
  { host, hostname, password }: URL,
  credential: string,
): Confidential => ({
  request,
  credentials: [credential, decodeURIComponent(password)],
  hosts: [host, hostname],
});

/** The protocol's headers with the secret, or with the role's signature. */
const signFor = async (
  { target, protocol }: UpstreamCall,
  secret: string | undefined,
  { role, request }: { role: RoleSigner; request: UnsignedRequest },
): Promise<HeaderMap> => {
  if (secret !== undefined) return credentialOf(protocol, target, secret);
  try {
    return await role.sign(request);
  } catch (cause) {
    throw new UpstreamError('credential', `cannot sign for ${target.upstream}`, { cause });
  }
};

/**
 * The same for each call of a request with the same body: also by another target of the provider, and by
 * another process after the first one died. Providers reject a key that is reused with another body.
 */
const idempotencyHeaderFor = (
  body: Bytes,
  { target: { idempotencyHeader: name }, requestId }: UpstreamCall,
): HeaderMap =>
  name === undefined || requestId === undefined
    ? {}
    : { [name]: `${requestId}-${sha256Of(body).slice(0, 16)}` };

const headersFor = (
  body: Bytes,
  authHeaders: HeaderMap,
  call: UpstreamCall,
  target: WireTarget,
): HeaderMap => ({
  'content-type': 'application/json',
  accept: `${STREAM_TYPE}, application/json`,
  'accept-encoding': 'identity',
  'user-agent': 'model-router',
  ...(call.traceparent !== undefined && { traceparent: call.traceparent }),
  ...idempotencyHeaderFor(body, call),
  ...authHeaders,
  ...(call.protocol.headers?.(call.request, target) ?? target.headers),
});

/** Returns a function that makes one call, with a secret or, without one, as the role. */
export const createSend = ({ role, clock }: { role: RoleSigner; clock: Clock }) => {
  const connectionsTo = createConnectionPools({ clock, connectMs: CONNECT_MS });

  return async (call: UpstreamCall, credential: Credential | undefined): Promise<EventBatches> => {
    const secret = credential?.value;
    const target = wireTargetOf(call.target, call.maxOutputTokens);
    const url = urlOf(call.target.baseUrl, call.protocol.path(target, !call.request.isWhole));
    const { wire, body } = encodeBody(call, target);
    const request = { url, body, now: clock.now() };
    const signed = await signFor(call, secret, { role, request });
    const headers = headersFor(body, signed, call, target);
    const { signal, onRepeat } = call;
    const connections = connectionsTo(url);
    const sent = post({ url, headers, body, connections, clock, signal, onRepeat });
    const waitMs = firstEventMs(sizeOf(body), call.target.firstEventTimeoutMs);
    const cancelWait = clock.after(waitMs, () =>
      sent.fail(new UpstreamError('first-event-timeout', `no content within ${waitMs} ms`)),
    );
    const close = () => {
      cancelWait();
      sent.close();
    };
    const granting = secret ?? signed['x-amz-security-token'] ?? '';
    const confidential = () => confidentialOf(wire, url, granting);
    const credentialVersion = credential?.version ?? ROLE_VERSION;
    try {
      const response = await sent.response;
      const { status } = response;
      const limits = readLimits(response.headers, { hostname: url.hostname, now: clock.now() });
      if (limits && call.heard) call.heard.limits = limits;
      if (status < 200 || status > 299) {
        const error = await readError(response, response.chunks, {
          ...{ clock, limits, credentialVersion },
          confidential: confidential(),
        });
        if (!credential && isRefusal(error)) role.rejected(response.headers.date, request.now);
        throw error;
      }
      return readAnswer(response, call, {
        onContent: cancelWait,
        complete: sent.complete,
        close,
        errorOf: (error) =>
          sent.errorOf(readSentError(error, { clock, credentialVersion, confidential })),
        clock,
      });
    } catch (error) {
      const failure = sent.errorOf(error);
      close();
      throw failure;
    }
  };
};
