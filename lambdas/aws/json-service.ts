import {
  type Agent,
  Agent as HttpAgent,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import { urlToHttpOptions } from 'node:url';
import type { Clock } from '../support/clock.ts';
import { isRecord } from '../support/readers.ts';
import { type AwsIdentity, createSigner, skewIn } from './sign.ts';

// --- one request ---

export type Timeouts = {
  /** Until the socket is connected, TLS handshake included. */
  connectMs: number;
  /** Until the last byte of the response. */
  requestMs: number;
};

export type AwsRequest = {
  method: 'GET' | 'POST' | 'PUT';
  url: URL;
  headers: Record<string, string>;
  body: string | Uint8Array;
  signal?: AbortSignal | undefined;
};

export type AwsResponse = { status: number; headers: IncomingMessage['headers']; body: Buffer };

type Wire = { agent: Agent; clock: Clock; timeouts: Timeouts };

const timeoutError = (what: string, ms: number): Error =>
  Object.assign(new Error(`${what} took more than ${ms} ms`), { name: 'TimeoutError' });

const collect = (response: IncomingMessage, onBody: (body: Buffer) => void) => {
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  response.on('end', () => onBody(Buffer.concat(chunks)));
};

/** The members that a call has. Node's own result has more, and is a dictionary, which is slow to copy. */
const readAddress = (url: URL) => {
  const { protocol, hostname, port, path, auth } = urlToHttpOptions(url);
  return { protocol, hostname, port, path, auth };
};

const addresses = new WeakMap<URL, ReturnType<typeof readAddress>>();

/** What Node's `request` reads of a URL, for 15 us of CPU: read once for a URL that is used again. */
export const addressOf = (url: URL): ReturnType<typeof readAddress> => {
  const address = addresses.get(url) ?? readAddress(url);
  addresses.set(url, address);
  return address;
};

/**
 * Sends one request and reads the whole response; never repeats it and never follows a redirect. Whether a
 * request that failed has arrived is unknown. @throws Error; a TimeoutError, or the reason of `signal`
 */
const sendOnce = (
  { method, url, headers, body, signal }: AwsRequest,
  { agent, clock, timeouts }: Wire,
): Promise<AwsResponse> =>
  new Promise((resolve, reject) => {
    const open = url.protocol === 'https:' ? requestHttps : requestHttp;
    const request = open({ ...addressOf(url), method, headers, agent });
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
      collect(response, (received) => {
        end();
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: received,
        });
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

// --- signed requests ---

export type AwsOptions = AwsIdentity & { endpoint: string; clock: Clock };

export type SignedClient = {
  /** One attempt. @throws AwsError for an error of the service; any other error: outcome unknown */
  send(request: AwsRequest): Promise<AwsResponse>;
  /** Closes idle connections. */
  destroy(): void;
};

/** Connections at once, as the SDK has them; further calls wait for one. */
const MAX_SOCKETS = 50;

/** What a signature of another time is rejected with. */
const SKEW_ERRORS = new Set([
  'AccessDeniedException',
  'AuthFailure',
  'InvalidSignatureException',
  'RequestExpired',
  'RequestInTheFuture',
  'RequestTimeTooSkewed',
  'SignatureDoesNotMatch',
]);

/** Signs requests and sends them on kept-alive connections; repeats one once if AWS rejects its time. */
export const createSignedClient = (
  {
    service,
    timeouts,
    errorOf,
  }: {
    /** Name in the signature's scope. */
    service: string;
    timeouts: Timeouts;
    errorOf: (response: AwsResponse) => AwsError;
  },
  { endpoint, clock, ...identity }: AwsOptions,
): SignedClient => {
  const options = { keepAlive: true, maxSockets: MAX_SOCKETS };
  const isSecure = endpoint.startsWith('https:');
  const agent = isSecure ? new HttpsAgent(options) : new HttpAgent(options);
  const sign = createSigner(service, identity);
  let skewMs = 0;

  return {
    send: async (request) => {
      for (let mayCorrect = true; ; mayCorrect = false) {
        const knownSkewMs = skewMs;
        const signedAt = clock.now() + knownSkewMs;
        const headers = await sign(request, signedAt);
        const response = await sendOnce({ ...request, headers }, { agent, clock, timeouts });
        if (response.status === 200) return response;
        const error = errorOf(response);
        const skew = SKEW_ERRORS.has(error.name) ? skewIn(response.headers.date, signedAt) : 0;
        if (skew === 0 || !mayCorrect) throw error;
        // Rejected, so not applied: repeating it once with AWS's time is safe. Calls at once measure the same skew.
        skewMs = knownSkewMs + skew;
      }
    },
    destroy: () => agent.destroy(),
  };
};

// --- JSON protocol ---

export type JsonServiceOptions = AwsOptions;

type Protocol = {
  /** Name in the signature's scope. */
  service: string;
  /** Prefix of the header `x-amz-target`. */
  targetPrefix: string;
  version: '1.0' | '1.1';
  timeouts: Timeouts;
};

export type JsonService = Pick<SignedClient, 'destroy'> & {
  /** One attempt. @throws AwsError for an error of the service; any other error: outcome unknown */
  call(operation: string, input: object, signal?: AbortSignal): Promise<Record<string, unknown>>;
};

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
const nameOf = (headers: AwsResponse['headers'], { __type, code }: Record<string, unknown>) => {
  const found = headers['x-amzn-errortype'] ?? __type ?? code;
  const [name = ''] = String(found ?? 'UnknownError').split(/[:,]/, 1);
  return name.slice(name.indexOf('#') + 1);
};

const errorOf = ({ status, headers, body: bytes }: AwsResponse): AwsError => {
  const body = parseErrorBody(bytes.toString());
  return new AwsError(nameOf(headers, body), { status, body });
};

/** A service of AWS that speaks its JSON protocol: each call is a POST. */
export const createJsonService = (
  { service, targetPrefix, version, timeouts }: Protocol,
  options: AwsOptions,
): JsonService => {
  const url = new URL(options.endpoint);
  const client = createSignedClient({ service, timeouts, errorOf }, options);
  return {
    call: async (operation, input, signal) => {
      const body = JSON.stringify(input);
      const headers = {
        'content-type': `application/x-amz-json-${version}`,
        'content-length': String(Buffer.byteLength(body)),
        'x-amz-target': `${targetPrefix}.${operation}`,
      };
      const response = await client.send({ method: 'POST', url, headers, body, signal });
      return parseBody(response.body.toString());
    },
    destroy: client.destroy,
  };
};
