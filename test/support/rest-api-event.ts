import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { functionUrlEvent } from './function-url-event.ts';

const valuesByName = (rawHeaders: string[]): Record<string, string[]> => {
  const values: Record<string, string[]> = {};
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    values[name] = [...(values[name] ?? []), rawHeaders[at + 1] ?? ''];
  }
  return values;
};

/**
 * The proxy event (1.0) in which a REST API would deliver the request: names as sent, the query decoded, the stage
 * only aside.
 */
export const restApiEvent = (
  request: IncomingMessage,
  body: Buffer,
  now: number,
): APIGatewayProxyEvent => {
  const event = functionUrlEvent(request, body, now);
  const multiValueHeaders = valuesByName(request.rawHeaders);
  const parameters = new URLSearchParams(event.rawQueryString);
  return {
    resource: '/{proxy+}',
    path: event.rawPath,
    httpMethod: event.requestContext.http.method,
    headers: Object.fromEntries(
      Object.entries(multiValueHeaders).map(([name, values]) => [name, values.at(-1)]),
    ),
    multiValueHeaders,
    queryStringParameters: null,
    multiValueQueryStringParameters: Object.fromEntries(
      [...parameters.keys()].map((name) => [name, parameters.getAll(name)]),
    ),
    pathParameters: null,
    stageVariables: null,
    body: event.body ?? null,
    isBase64Encoded: event.isBase64Encoded,
    requestContext: {
      accountId: '000000000000',
      apiId: 'test',
      authorizer: null,
      protocol: 'HTTP/1.1',
      httpMethod: event.requestContext.http.method,
      identity: {
        accessKey: null,
        accountId: null,
        apiKey: null,
        apiKeyId: null,
        caller: null,
        clientCert: null,
        cognitoAuthenticationProvider: null,
        cognitoAuthenticationType: null,
        cognitoIdentityId: null,
        cognitoIdentityPoolId: null,
        principalOrgId: null,
        sourceIp: '127.0.0.1',
        user: null,
        userAgent: null,
        userArn: null,
      },
      path: `/prod${event.rawPath}`,
      stage: 'prod',
      requestId: 'test',
      requestTimeEpoch: now,
      resourceId: 'test',
      resourcePath: '/{proxy+}',
    },
  };
};
