type Options = { method?: string; key?: string; body?: unknown; acceptsGzip?: boolean };

const headersOf = ({ key, body, acceptsGzip }: Options): Record<string, string> => ({
  host: 'router.test',
  ...(acceptsGzip && { 'accept-encoding': 'gzip, deflate, br' }),
  ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  ...(body === undefined ? {} : { 'content-type': 'application/json' }),
});

const textOf = ({ body }: Options): string | undefined =>
  body === undefined ? undefined : JSON.stringify(body);

/** What a Function URL makes of a request (payload 2.0). */
export const functionUrl = (path: string, options: Options = {}) => ({
  version: '2.0',
  routeKey: '$default',
  rawPath: path,
  rawQueryString: '',
  headers: headersOf(options),
  requestContext: {
    http: { method: options.method ?? 'POST', path, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1' },
    requestId: 'platform',
    stage: '$default',
  },
  body: textOf(options),
  isBase64Encoded: false,
});

/** What a REST API makes of it (proxy event 1.0). */
export const restApi = (path: string, options: Options = {}) => {
  const headers = headersOf(options);
  return {
    resource: '/{proxy+}',
    path,
    httpMethod: options.method ?? 'POST',
    headers,
    multiValueHeaders: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, [value]]),
    ),
    queryStringParameters: null,
    requestContext: { path: `/prod${path}`, stage: 'prod', requestId: 'platform' },
    body: textOf(options) ?? null,
    isBase64Encoded: false,
  };
};
