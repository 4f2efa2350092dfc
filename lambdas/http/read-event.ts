import type { APIGatewayProxyEvent, APIGatewayProxyEventV2 } from 'aws-lambda';
import { decodeUri } from '../support/objects.ts';

/** An HTTP request without a trace of who delivered it. */
export type HttpRequest = {
  method: string;
  /** As sent, still percent-encoded, without a stage prefix or query. */
  path: string;
  /** Names in lower case; repeated headers joined by commas, as every public endpoint does. */
  headers: Record<string, string>;
  /** The network address of the client, or of the proxy in front of a plain server. */
  source: string;
  /** Parameters of the query, decoded; the last one of a repeated name, and all of a list (`name[]`) with commas. */
  query: Readonly<Record<string, string>>;
  /** The body as sent: its bytes, or its text where an event has that; empty when there is none. */
  body: string | Uint8Array;
};

/** A Function URL's event (payload 2.0) or a REST API's proxy event (1.0). */
export type HttpEvent = APIGatewayProxyEventV2 | APIGatewayProxyEvent;

/** What handlers get: an event of a platform, or the request itself from an HTTP server. */
export type Delivered = HttpEvent | HttpRequest;

const lowerCased = (headers: [string, string | undefined][]): Record<string, string> =>
  Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value ?? '']));

const readHeadersOfRestApi = (event: APIGatewayProxyEvent): Record<string, string> =>
  lowerCased(
    Object.entries(event.multiValueHeaders ?? {}).map(([name, values]) => [
      name,
      values?.join(','),
    ]),
  );

/** Levels of a base path that are looked for: each one costs up to two passes over the path. */
const MAX_MAPPING_LEVELS = 10;

/** The path without its first segments: the whole, without one, without two. */
const suffixesOf = (path: string): string[] => {
  const suffixes: string[] = [];
  for (let start = 0; start !== -1 && suffixes.length < MAX_MAPPING_LEVELS; ) {
    suffixes.push(path.slice(start));
    start = path.indexOf('/', start + 1);
  }
  return suffixes;
};

/**
 * The path without the base path of a custom domain's mapping, e.g. `/llm`, which `path` contains and the
 * resource does not: what remains matches the resource with its parameters, which may be percent-decoded.
 */
const pathBelowMapping = ({ path, resource, pathParameters }: APIGatewayProxyEvent): string => {
  const rest = resource?.replace(/\{(\w+)\+?\}/, (text, name) => pathParameters?.[name] ?? text);
  const suffixes = suffixesOf(path);
  const below =
    suffixes.find((suffix) => suffix === rest) ??
    suffixes.find((suffix) => decodeUri(suffix) === rest);
  // The root's mapping may be called without a slash at the end.
  return below ?? (resource === '/' ? '/' : path);
};

/** The path alone, as `readEvent` returns it. */
export const pathOf = (event: Delivered): string => {
  if ('source' in event) return event.path;
  return 'rawPath' in event ? event.rawPath : pathBelowMapping(event);
};

/** A list, whose name ends in brackets, has commas between its values. */
const queryIn = (pairs: Iterable<[string, string]>): Record<string, string> => {
  const query: Record<string, string> = {};
  for (const [name, value] of pairs) {
    const isMore = name.endsWith('[]') && Object.hasOwn(query, name);
    query[name] = isMore ? `${query[name]},${value}` : value;
  }
  return query;
};

export const queryOf = (text: string): Record<string, string> => queryIn(new URLSearchParams(text));

const queryOfRestApi = ({ multiValueQueryStringParameters: parameters }: APIGatewayProxyEvent) =>
  queryIn(
    Object.entries(parameters ?? {}).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    ),
  );

/** The request in either event format. */
export const readEvent = (event: HttpEvent): HttpRequest => {
  const body = event.isBase64Encoded ? Buffer.from(event.body ?? '', 'base64') : (event.body ?? '');
  if ('rawPath' in event) {
    return {
      method: event.requestContext.http.method,
      path: pathOf(event),
      source: event.requestContext.http.sourceIp,
      headers: lowerCased(Object.entries(event.headers)),
      query: queryOf(event.rawQueryString ?? ''),
      body,
    };
  }
  return {
    method: event.httpMethod,
    path: pathOf(event),
    headers: readHeadersOfRestApi(event),
    query: queryOfRestApi(event),
    source: event.requestContext.identity?.sourceIp ?? '',
    body,
  };
};
