import type { Clock } from '../support/clock.ts';
import { isRecord } from '../support/readers.ts';
import { type AwsRequest, type AwsResponse, createExchange, type Timeouts } from './exchange.ts';
import { type AwsIdentity, createSigner, skewIn } from './sign.ts';

export type { Timeouts };

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
  const { exchange, destroy } = createExchange(new URL(endpoint), { clock, timeouts });
  const sign = createSigner(service, identity);
  let skewMs = 0;

  return {
    send: async (request) => {
      for (let mayCorrect = true; ; mayCorrect = false) {
        const knownSkewMs = skewMs;
        const signedAt = clock.now() + knownSkewMs;
        const headers = await sign(request, signedAt);
        const response = await exchange({ ...request, headers });
        if (response.status === 200) return response;
        const error = errorOf(response);
        const skew = SKEW_ERRORS.has(error.name) ? skewIn(response.headers.date, signedAt) : 0;
        if (skew === 0 || !mayCorrect) throw error;
        // Rejected, so not applied: repeating it once with AWS's time is safe. Calls at once measure the same skew.
        skewMs = knownSkewMs + skew;
      }
    },
    destroy,
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
