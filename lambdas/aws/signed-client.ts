import type { Clock } from '../support/clock.ts';
import { type AwsRequest, type AwsResponse, createExchange, type Timeouts } from './exchange.ts';
import { type AwsIdentity, createSigner, skewIn } from './sign.ts';

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
  parts: {
    /** Name in the signature's scope. */
    service: string;
    timeouts: Timeouts;
    errorOf: (response: AwsResponse) => AwsError;
  },
  { endpoint, clock, ...identity }: AwsOptions,
): SignedClient => {
  const { service, timeouts, errorOf } = parts;
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
        if (response.status < 300) return response;
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
