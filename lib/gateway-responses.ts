import { ResponseType, type RestApi } from 'aws-cdk-lib/aws-apigateway';
import type { Stage } from './stage.ts';

/** A response that API Gateway sends without calling the router. */
type GatewayResponse = {
  kind: ResponseType;
  /** @default the status of API Gateway */
  status?: number;
  type: 'invalid_request_error' | 'rate_limit_error' | 'api_error';
  message: string;
  headers?: Record<string, string>;
};

const RESPONSES: GatewayResponse[] = [
  {
    kind: ResponseType.DEFAULT_4XX,
    type: 'invalid_request_error',
    message: 'The request was rejected before it reached the router.',
  },
  {
    kind: ResponseType.DEFAULT_5XX,
    type: 'api_error',
    message: 'The router could not be reached. Retry with backoff.',
  },
  {
    kind: ResponseType.REQUEST_TOO_LARGE,
    status: 413,
    type: 'invalid_request_error',
    message: 'The request body is too large.',
  },
  {
    // An unsigned request to an admin path: every other path and method routes to the router.
    kind: ResponseType.MISSING_AUTHENTICATION_TOKEN,
    status: 404,
    type: 'invalid_request_error',
    message: 'Not found, or the request must be signed with AWS credentials.',
  },
  {
    // A call of the console whose ID token is missing, invalid or expired.
    kind: ResponseType.UNAUTHORIZED,
    type: 'invalid_request_error',
    message: 'Sign in again.',
  },
  // IAM errors, admin paths only: callers' requests are not signed.
  {
    kind: ResponseType.ACCESS_DENIED,
    type: 'invalid_request_error',
    message: 'Access denied: execute-api:Invoke is required.',
  },
  {
    kind: ResponseType.INVALID_SIGNATURE,
    type: 'invalid_request_error',
    message: 'Invalid AWS signature. Check region, system clock and credentials.',
  },
  {
    kind: ResponseType.EXPIRED_TOKEN,
    type: 'invalid_request_error',
    message: 'The credentials have expired. Sign in again.',
  },
  {
    kind: ResponseType.THROTTLED,
    status: 429,
    type: 'rate_limit_error',
    message: 'Too many requests. Back off and retry.',
    headers: { 'retry-after': '1' },
  },
  {
    // 429 instead of API Gateway's 403: the only firewall rule is a rate limit, so a retry
    // succeeds.
    kind: ResponseType.WAF_FILTERED,
    status: 429,
    type: 'rate_limit_error',
    message: 'Too many requests from this address. Back off and retry.',
    headers: { 'retry-after': '60' },
  },
  {
    kind: ResponseType.INTEGRATION_FAILURE,
    status: 503,
    type: 'api_error',
    message: 'The router is unavailable. Retry with backoff.',
  },
  {
    kind: ResponseType.INTEGRATION_TIMEOUT,
    status: 504,
    type: 'api_error',
    message: 'The router timed out. Retry with backoff.',
  },
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
  for (const { kind, status, type, message, headers } of RESPONSES) {
    const envelope = { type: 'error', error: { type, message }, request_id: '$context.requestId' };
    restApi.addGatewayResponse(`Answer${kind.responseType}`, {
      type: kind,
      ...(status !== undefined && { statusCode: String(status) }),
      responseHeaders: responseHeaders({ ...cors, ...headers }),
      templates: { 'application/json': JSON.stringify(envelope) },
    });
  }
};
