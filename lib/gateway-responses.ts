import { ResponseType, type RestApi } from 'aws-cdk-lib/aws-apigateway';

/** An answer that API Gateway gives by itself; without `status` it keeps the one it would have sent. */
type GatewayAnswer = {
  kind: ResponseType;
  status?: number;
  type: 'invalid_request_error' | 'rate_limit_error' | 'api_error';
  message: string;
  headers?: Record<string, string>;
};

const ANSWERS: GatewayAnswer[] = [
  {
    kind: ResponseType.DEFAULT_4XX,
    type: 'invalid_request_error',
    message: 'The request was refused before it reached the router.',
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
    // An operator's path without a signature: every other path and method there is leads to the router.
    kind: ResponseType.MISSING_AUTHENTICATION_TOKEN,
    status: 404,
    type: 'invalid_request_error',
    message: 'There is no such path, or its requests are to be signed with AWS credentials.',
  },
  // IAM's refusals of an operator; callers' requests are not signed.
  {
    kind: ResponseType.ACCESS_DENIED,
    type: 'invalid_request_error',
    message: 'These AWS credentials may not do this: they need execute-api:Invoke on it.',
  },
  {
    kind: ResponseType.INVALID_SIGNATURE,
    type: 'invalid_request_error',
    message: 'The AWS signature is not valid: see the region, the clock and the secret key.',
  },
  {
    kind: ResponseType.EXPIRED_TOKEN,
    type: 'invalid_request_error',
    message: 'The AWS credentials have expired. Sign in again.',
  },
  {
    kind: ResponseType.THROTTLED,
    status: 429,
    type: 'rate_limit_error',
    message: 'Too many requests. Back off and retry.',
    headers: { 'retry-after': '1' },
  },
  {
    // The firewall's one rule is a rate, so its refusal is one that passes; the platform calls it 403.
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
    message: 'The router is not available. Retry with backoff.',
  },
  {
    kind: ResponseType.INTEGRATION_TIMEOUT,
    status: 504,
    type: 'api_error',
    message: 'The router did not answer in time. Retry with backoff.',
  },
];

/** Header values are expressions: `context.…` is looked up, quoted text is taken as it is. */
const responseHeaders = (headers: Record<string, string> = {}): Record<string, string> => ({
  'x-request-id': 'context.requestId',
  'request-id': 'context.requestId',
  ...Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, `'${text}'`])),
});

/**
 * Puts the platform's own refusals into an envelope that both families' SDKs read. A template cannot
 * ask for the path, so the body is the messages envelope, of which the chat envelope is a part.
 */
export const addGatewayResponses = (restApi: RestApi): void => {
  for (const { kind, status, type, message, headers } of ANSWERS) {
    const envelope = {
      type: 'error',
      error: { type, message },
      request_id: '$context.requestId',
    };
    restApi.addGatewayResponse(`Answer${kind.responseType}`, {
      type: kind,
      ...(status !== undefined && { statusCode: String(status) }),
      responseHeaders: responseHeaders(headers),
      templates: { 'application/json': JSON.stringify(envelope) },
    });
  }
};
