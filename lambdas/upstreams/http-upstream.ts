import { hash } from 'node:crypto';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { AwsIdentity } from '../aws/sign.ts';
import type { Confidential } from '../protocols/clean-reason.ts';
import { isContent } from '../protocols/event-writer.ts';
import {
  type HeaderMap,
  type UnsignedRequest,
  type UpstreamEndpoint,
  type WireTarget,
  wireTargetOf,
} from '../protocols/protocol.ts';
import { UpstreamError } from '../protocols/upstream-error.ts';
import type { Clock } from '../support/clock.ts';
import { firstEventMs } from './deadlines.ts';
import { closing, encodeJson, type Post, post } from './post.ts';
import { bytesOf, readAnswer } from './read-answer.ts';
import { readError, readSentError } from './read-error.ts';
import { createRoleSigner, type RoleSigner } from './role-signer.ts';
import type { Credential, UpstreamSecrets } from './secrets.ts';
import type { EventBatches, Upstream, UpstreamCall } from './upstream.ts';

type Parts = {
  secrets: UpstreamSecrets;
  /**
   * Of the function's role, for targets with `auth: "iam"`.
   * @default none: these targets fail
   */
  roleCredentials?: AwsIdentity['credentials'] | undefined;
  clock: Clock;
};

const noRole = () => Promise.reject(new Error('There are no credentials of a role.'));

/** Stands for the version of the role's credentials, which AWS replaces before they expire. */
const ROLE_VERSION = 'role';

/** No limit of sockets: a request never queues for a connection. */
const POOL = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 256 };

/** What a header can carry. */
const SENDABLE = /^[\x20-\x7e]+$/;

/** The abort reason distinguishes a deadline from a client that disconnected. */
const throwIfAborted = ({ aborted, reason }: AbortSignal) => {
  if (!aborted) return;
  throw reason instanceof UpstreamError
    ? reason
    : new UpstreamError('aborted', 'the client disconnected');
};

/** A field of the upstream secret, and what ends the wait for it. */
type SecretOf = { name: string; signal: AbortSignal };

/** The credential of another version than the rejected one, if the secret has one. */
const newerCredential = async (
  { name, signal }: SecretOf,
  secrets: UpstreamSecrets,
  version: string,
): Promise<Credential | undefined> => {
  const newer = await secrets.refused(name, version, signal).catch(() => undefined);
  throwIfAborted(signal);
  return newer;
};

/** @throws UpstreamError `credential`: a fault of this environment or of the secret, not of the target */
const credentialFor = async (secret: SecretOf, secrets: UpstreamSecrets): Promise<Credential> => {
  const { name, signal } = secret;
  try {
    const known = await secrets.get(name, signal);
    if (SENDABLE.test(known.value)) return known;
    const newer = await newerCredential(secret, secrets, known.version);
    if (newer && SENDABLE.test(newer.value)) return newer;
    throw new Error('The credential holds what no header can carry.');
  } catch (cause) {
    throwIfAborted(signal);
    throw new UpstreamError('credential', `no credential '${name}'`, { cause });
  }
};

const isRefusal = (error: unknown): boolean =>
  error instanceof UpstreamError && (error.kind === 'credential-refused' || error.status === 403);

/** As many entries as the catalog has targets, times the paths of a protocol. */
const urls = new Map<string, URL>();

/** URL of a target: `path` below its base URL, whose query is kept. */
export const urlOf = (baseUrl: string, path: string): URL => {
  const name = `${baseUrl} ${path}`;
  const known = urls.get(name);
  if (known) return known;
  const url = new URL(baseUrl);
  url.pathname = url.pathname.replace(/\/$/, '') + path;
  urls.set(name, url);
  return url;
};

/** Streamed if possible: that gives a first-event and an idle limit, and shows a truncated answer as one. */
const encodeBody = ({ request, protocol, source }: UpstreamCall, target: WireTarget) => {
  const wire = protocol.encodeRequest({ ...request, stream: !request.isWhole }, target);
  return { wire, body: encodeJson(wire, source) };
};

/** What an error's text must not contain. The model's name may stay: it is the catalog's, and often the cause. */
const confidentialOf = (
  { model: _, ...request }: Record<string, unknown>,
  { host, hostname }: URL,
  credential: string,
): Confidential => ({ request, secrets: [credential, host, hostname] });

/** The protocol's headers with the secret, or with the role's signature. */
const signFor = async (
  { target }: UpstreamCall,
  { headers }: UpstreamEndpoint,
  { role, request }: { role: RoleSigner; request: UnsignedRequest },
): Promise<HeaderMap> => {
  try {
    const own = await headers(request);
    return request.secret === undefined ? { ...own, ...(await role.sign(request)) } : own;
  } catch (cause) {
    throw new UpstreamError('credential', `cannot sign for ${target.upstream}`, { cause });
  }
};

/**
 * The same for each call of a request with the same body: also by another target of the provider, and by
 * another process after the first one died. Providers reject a key that is reused with another body.
 */
const idempotencyHeaderFor = (
  body: Uint8Array,
  { target: { idempotencyHeader: name }, requestId }: UpstreamCall,
): HeaderMap =>
  name === undefined || requestId === undefined
    ? {}
    : { [name]: `${requestId}-${hash('sha256', body).slice(0, 16)}` };

const headersFor = (
  body: Uint8Array,
  authHeaders: HeaderMap,
  call: UpstreamCall,
  target: WireTarget,
): HeaderMap => ({
  'content-type': 'application/json',
  'content-length': String(body.byteLength),
  accept: 'text/event-stream, application/json',
  'accept-encoding': 'identity',
  'user-agent': 'model-router',
  ...(call.traceparent !== undefined && { traceparent: call.traceparent }),
  ...idempotencyHeaderFor(body, call),
  ...authHeaders,
  ...(call.protocol.headers?.(call.request, target) ?? target.headers),
});

/**
 * Cancels the first-event timer at the first content, drains the connection for reuse after `finish`, and
 * closes it otherwise. @throws UpstreamError: why the post failed, where it did
 */
async function* holdConnection(
  batches: EventBatches,
  sent: Post,
  { onContent, confidential }: { onContent: () => void; confidential: () => Confidential },
): EventBatches {
  try {
    for await (const events of batches) {
      if (events.some(isContent)) onContent();
      if (events.at(-1)?.type === 'finish') sent.complete();
      yield events;
    }
  } catch (error) {
    throw sent.errorOf(readSentError(error, confidential));
  } finally {
    onContent();
    sent.close();
  }
}

type SendParts = { role: RoleSigner; clock: Clock };

/** Returns a function that makes one call, with a secret or, without one, as the role. */
const createSend = ({ role, clock }: SendParts) => {
  const http = new HttpAgent(POOL);
  const https = new HttpsAgent(POOL);

  return async (call: UpstreamCall, credential: Credential | undefined): Promise<EventBatches> => {
    const secret = credential?.value;
    const target = wireTargetOf(call.target, call.maxOutputTokens);
    const endpoint = call.protocol.endpoint(target);
    const url = urlOf(call.target.baseUrl, endpoint.path);
    const { wire, body } = encodeBody(call, target);
    const request = { secret, url, body, now: clock.now() };
    const signed = await signFor(call, endpoint, { role, request });
    const agent = url.protocol === 'https:' ? https : http;
    const headers = headersFor(body, signed, call, target);
    const sent = post({ url, headers, body, agent, clock, signal: call.signal });
    const waitMs = firstEventMs(body.byteLength, call.target.firstEventTimeoutMs);
    const cancelWait = clock.after(waitMs, () =>
      sent.fail(new UpstreamError('first-event-timeout', `no content within ${waitMs} ms`)),
    );
    const close = () => {
      cancelWait();
      sent.close();
    };
    const granting = secret ?? signed['x-amz-security-token'] ?? '';
    const confidential = () => confidentialOf(wire, url, granting);
    try {
      const response = await sent.response;
      const { statusCode = 0 } = response;
      const chunks = bytesOf(response, sent, clock);
      if (statusCode < 200 || statusCode > 299) {
        const error = await readError(response, chunks, {
          now: clock.now(),
          credentialVersion: credential?.version ?? ROLE_VERSION,
          confidential: confidential(),
        });
        if (!credential && isRefusal(error)) role.rejected(response.headers.date, request.now);
        throw error;
      }
      const batches = readAnswer(response, chunks, call, { clock, fail: sent.fail });
      return closing(holdConnection(batches, sent, { onContent: cancelWait, confidential }), close);
    } catch (error) {
      close();
      throw sent.errorOf(error);
    }
  };
};

/** Calls providers over HTTP, with connections kept alive between calls. */
export const createHttpUpstream = (parts: Parts): Upstream => {
  const { secrets, roleCredentials = noRole, clock } = parts;
  const role = createRoleSigner(roleCredentials);
  const send = createSend({ role, clock });

  const openWithSecret = async (call: UpstreamCall, name: string): Promise<EventBatches> => {
    const secret = { name, signal: call.signal };
    const sendWith = async (credential: Credential) => {
      const batches = await send(call, credential);
      secrets.accepted(name);
      return batches;
    };
    const credential = await credentialFor(secret, secrets);
    try {
      return await sendWith(credential);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const newer = await newerCredential(secret, secrets, credential.version);
      if (!newer || !SENDABLE.test(newer.value)) throw error;
      // Once: the rejected credential has been replaced since it was read.
      return sendWith(newer);
    }
  };

  const openAsRole = async (call: UpstreamCall): Promise<EventBatches> => {
    const known = role.skewMs();
    try {
      return await send(call, undefined);
    } catch (error) {
      if (!isRefusal(error) || role.skewMs() === known) throw error;
      // Once: the rejection has shown that our time was wrong.
      return send(call, undefined);
    }
  };

  return {
    open: (call) => {
      const { secret } = call.target;
      return secret === undefined ? openAsRole(call) : openWithSecret(call, secret);
    },
    prefetch: (targets) => {
      if (targets.some(({ secret }) => secret !== undefined)) secrets.prefetch();
    },
    credentialVersion: ({ secret }) =>
      secret === undefined ? ROLE_VERSION : secrets.version(secret),
  };
};
