import { ResponseType, type RestApi } from 'aws-cdk-lib/aws-apigateway';
import type { Stage } from './stage.ts';

const INVALID = 'invalid_request_error';
const BUSY = 'rate_limit_error';
const FAILED = 'api_error';

/** A response that API Gateway sends without calling the router, by default with its own status. */
type GatewayResponse = [
  kind: ResponseType,
  type: typeof INVALID | typeof BUSY | typeof FAILED,
  message: string,
  status?: number,
  headers?: Record<string, string>,
];

const after = (seconds: number) => ({ 'retry-after': String(seconds) });

const RESPONSES: GatewayResponse[] = [
  [ResponseType.DEFAULT_4XX, INVALID, 'The request was rejected before it reached the router.'],
  [ResponseType.DEFAULT_5XX, FAILED, 'The router could not be reached. Retry with backoff.'],
  [ResponseType.REQUEST_TOO_LARGE, INVALID, 'The request body is too large.', 413],
  [
    // An unsigned request to an admin path: every other path and method routes to the router.
    ResponseType.MISSING_AUTHENTICATION_TOKEN,
    INVALID,
    'Not found, or the request must be signed with AWS credentials.',
    404,
  ],
  // A call of the console whose ID token is missing, invalid or expired.
  [ResponseType.UNAUTHORIZED, INVALID, 'Sign in again.'],
  // IAM errors, admin paths only: callers' requests are not signed.
  [ResponseType.ACCESS_DENIED, INVALID, 'Access denied: execute-api:Invoke is required.'],
  [
    ResponseType.INVALID_SIGNATURE,
    INVALID,
    'Invalid AWS signature. Check region, system clock and credentials.',
  ],
  [ResponseType.EXPIRED_TOKEN, INVALID, 'The credentials have expired. Sign in again.'],
  [ResponseType.THROTTLED, BUSY, 'Too many requests. Back off and retry.', 429, after(1)],
  [
    // 429 instead of API Gateway's 403: the only firewall rule is a rate limit, so a retry succeeds.
    ResponseType.WAF_FILTERED,
    BUSY,
    'Too many requests from this address. Back off and retry.',
    429,
    after(60),
  ],
  [ResponseType.INTEGRATION_FAILURE, FAILED, 'The router is unavailable. Retry with backoff.', 503],
  [ResponseType.INTEGRATION_TIMEOUT, FAILED, 'The router timed out. Retry with backoff.', 504],
];

/** Header values are expressions: `context.…` is resolved, text in single quotes is a literal. */
const responseHeaders = (headers: Record<string, string> = {}): Record<string, string> => ({
  'x-request-id': 'context.requestId',
  'request-id': 'context.requestId',
  ...Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, `'${text}'`])),
});

/**
 * Replaces API Gateway's error bodies by an envelope that the SDKs of every caller protocol parse.
 * A template cannot read the path, so the body is the messages envelope, which contains the chat
 * envelope.
 */
export const addGatewayResponses = (
  restApi: RestApi,
  { corsOrigins }: Pick<Stage, 'corsOrigins'>,
): void => {
  // A static header cannot choose among origins. These errors hold nothing private, and no cookie is read.
  const cors: Record<string, string> =
    corsOrigins.length > 0
      ? { 'access-control-allow-origin': '*', 'access-control-expose-headers': '*' }
      : {};
  for (const [kind, type, message, status, headers] of RESPONSES) {
    const envelope = { type: 'error', error: { type, message }, request_id: '$context.requestId' };
    restApi.addGatewayResponse(`Answer${kind.responseType}`, {
      type: kind,
      ...(status !== undefined && { statusCode: String(status) }),
      responseHeaders: responseHeaders({ ...cors, ...headers }),
      templates: { 'application/json': JSON.stringify(envelope) },
    });
  }
};
