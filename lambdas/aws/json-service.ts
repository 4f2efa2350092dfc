import {
  type Agent,
  Agent as HttpAgent,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import type { Clock } from '../support/clock.ts';
import { type AwsIdentity, createSigner } from './sign.ts';

// --- one POST ---

export type Timeouts = {
  /** Until the socket is connected, TLS handshake included. */
  connectMs: number;
  /** Until the last byte of the response. */
  requestMs: number;
};

type JsonPost = {
  url: URL;
  headers: Record<string, string>;
  body: string;
  agent: Agent;
  clock: Clock;
  timeouts: Timeouts;
  signal?: AbortSignal | undefined;
};

type JsonResponse = { status: number; headers: IncomingMessage['headers']; text: string };

const timeoutError = (what: string, ms: number): Error =>
  Object.assign(new Error(`${what} took more than ${ms} ms`), { name: 'TimeoutError' });

const collect = (response: IncomingMessage, onText: (text: string) => void) => {
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  response.on('end', () => onText(Buffer.concat(chunks).toString()));
};

/**
 * Sends one POST and reads the whole response; never repeats it and never follows a redirect. Whether a
 * request that failed has arrived is unknown. @throws Error; a TimeoutError, or the reason of `signal`
 */
const postJson = ({ url, headers, body, agent, clock, timeouts, signal }: JsonPost) =>
  new Promise<JsonResponse>((resolve, reject) => {
    const open = url.protocol === 'https:' ? requestHttps : requestHttp;
    const request = open(url, { method: 'POST', headers, agent });
    const cancels: (() => void)[] = [];
    const end = () => {
      for (const cancel of cancels) cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    const fail = (error: unknown) => {
      end();
      // The connection cannot be reused: a late response would answer the next request.
      request.destroy();
      reject(error);
    };
    const onAbort = () => fail(signal?.reason);
    const failAfter = (ms: number, what: string) => {
      const cancel = clock.after(ms, () => fail(timeoutError(what, ms)));
      cancels.push(cancel);
      return cancel;
    };
    failAfter(timeouts.requestMs, 'The request');
    signal?.addEventListener('abort', onAbort, { once: true });
    request.on('socket', (socket: Socket) => {
      if (!socket.connecting) return;
      const cancel = failAfter(timeouts.connectMs, 'Connecting');
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', cancel);
    });
    request.on('response', (response) => {
      // Emitted as an error of the response only: `close` without `end` is a connection that was cut.
      response.on('error', fail);
      collect(response, (text) => {
        end();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    request.on('error', fail);
    request.end(body);
    if (signal?.aborted) onAbort();
  });

// --- errors ---

/** AWS answered with an error. Its name is AWS's, e.g. `AccessDeniedException`; its text is private. */
export class AwsError extends Error {
  readonly status: number;
  readonly body: Record<string, unknown>;

  constructor(name: string, { status, body }: { status: number; body: Record<string, unknown> }) {
    super(`AWS responded with ${status}`);
    this.name = name;
    this.status = status;
    this.body = body;
  }
}

// --- service ---

export type JsonServiceOptions = AwsIdentity & { endpoint: string; clock: Clock };

type Protocol = {
  /** Name in the signature's scope. */
  service: string;
  /** Prefix of the header `x-amz-target`. */
  targetPrefix: string;
  version: '1.0' | '1.1';
  timeouts: Timeouts;
};

export type JsonService = {
  /** One attempt. @throws AwsError for an error of the service; any other error: outcome unknown */
  call(operation: string, input: object, signal?: AbortSignal): Promise<Record<string, unknown>>;
  /** Closes idle connections. */
  destroy(): void;
};

/** Connections at once, as the SDK has them; further calls wait for one. */
const MAX_SOCKETS = 50;

/** A service rejects signatures that are 5 minutes off. */
const SKEW_ERRORS = new Set([
  'AccessDeniedException',
  'AuthFailure',
  'InvalidSignatureException',
  'RequestExpired',
  'RequestInTheFuture',
  'RequestTimeTooSkewed',
  'SignatureDoesNotMatch',
]);
const MAX_SKEW_MS = 4 * 60_000;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @throws Error if the body is not a JSON object */
const parseBody = (text: string): Record<string, unknown> => {
  const body: unknown = JSON.parse(text);
  if (!isRecord(body)) throw new Error('The response is not a JSON object.');
  return body;
};

const parseErrorBody = (text: string): Record<string, unknown> => {
  try {
    return parseBody(text);
  } catch {
    return {};
  }
};

/** `com.amazonaws.dynamodb.v20120810#Name` and `Name:http://…` are both in use. */
const nameOf = (headers: JsonResponse['headers'], { __type, code }: Record<string, unknown>) => {
  const found = headers['x-amzn-errortype'] ?? __type ?? code;
  const [name = ''] = String(found ?? 'UnknownError').split(/[:,]/, 1);
  return name.slice(name.indexOf('#') + 1);
};

const errorOf = ({ status, headers, text }: JsonResponse): AwsError => {
  const body = parseErrorBody(text);
  return new AwsError(nameOf(headers, body), { status, body });
};

/** AWS's time minus ours, from a response that rejects the signature; undefined if our time is not why. */
const skewIn = (error: AwsError, { date = '' }: JsonResponse['headers'], signedAt: number) => {
  const skew = Date.parse(date) - signedAt;
  return SKEW_ERRORS.has(error.name) && Math.abs(skew) > MAX_SKEW_MS ? skew : undefined;
};

/** A service of AWS that speaks its JSON protocol: signs calls and sends them on kept-alive connections. */
export const createJsonService = (
  { service, targetPrefix, version, timeouts }: Protocol,
  { endpoint, clock, ...identity }: JsonServiceOptions,
): JsonService => {
  const url = new URL(endpoint);
  const options = { keepAlive: true, maxSockets: MAX_SOCKETS };
  const agent = url.protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options);
  const sign = createSigner(service, identity);
  let skewMs = 0;

  const attempt = async (operation: string, body: string, signal: AbortSignal | undefined) => {
    const signedAt = clock.now() + skewMs;
    const unsigned = {
      'content-type': `application/x-amz-json-${version}`,
      'content-length': String(Buffer.byteLength(body)),
      'x-amz-target': `${targetPrefix}.${operation}`,
    };
    const headers = await sign({ url, headers: unsigned, body }, signedAt);
    const response = await postJson({ url, headers, body, agent, clock, timeouts, signal });
    return { response, signedAt };
  };

  return {
    call: async (operation, input, signal) => {
      const body = JSON.stringify(input);
      for (let mayCorrect = true; ; mayCorrect = false) {
        const { response, signedAt } = await attempt(operation, body, signal);
        if (response.status === 200) return parseBody(response.text);
        const error = errorOf(response);
        const skew = skewIn(error, response.headers, signedAt);
        if (skew === undefined || !mayCorrect) throw error;
        // Rejected, so not applied: repeating it once with AWS's time is safe.
        skewMs += skew;
      }
    },
    destroy: () => agent.destroy(),
  };
};
