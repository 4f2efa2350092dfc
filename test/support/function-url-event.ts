import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { joinHeaders, splitTarget } from '../../lambdas/web/request-head.ts';

const TEXT_TYPE =
  /^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml)\b|application\/javascript\b|application\/x-www-form-urlencoded\b)/i;

const isText = (headers: Record<string, string>, body: Buffer): boolean =>
  TEXT_TYPE.test(headers['content-type'] ?? '') &&
  headers['content-encoding'] === undefined &&
  isUtf8(body);

/** The event in which a Function URL (payload 2.0) would deliver the request. */
export const functionUrlEvent = (
  request: IncomingMessage,
  body: Buffer,
  now: number,
): APIGatewayProxyEventV2 => {
  const { path, query } = splitTarget(request.url ?? '/');
  const headers = joinHeaders(request.rawHeaders);
  const isBase64Encoded = body.byteLength > 0 && !isText(headers, body);
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString: query,
    headers,
    requestContext: {
      accountId: 'anonymous',
      apiId: 'local',
      domainName: headers.host ?? 'localhost',
      domainPrefix: 'local',
      http: {
        method: request.method ?? 'GET',
        path,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: request.socket.remoteAddress ?? '',
        userAgent: headers['user-agent'] ?? '',
      },
      requestId: 'local',
      routeKey: '$default',
      stage: '$default',
      time: new Date(now).toUTCString(),
      timeEpoch: now,
    },
    ...(body.byteLength > 0 && { body: body.toString(isBase64Encoded ? 'base64' : 'utf8') }),
    isBase64Encoded,
  };
};
