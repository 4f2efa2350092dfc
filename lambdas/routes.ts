/**
 * CONTRACT with lib/: the public routes, as data. HEAD, OPTIONS, the hints of a 404, the endpoints that
 * `createRouter` has to provide and the values of the metric dimension `Route` follow from it.
 */
type Row = {
  method: 'GET' | 'POST' | 'DELETE';
  /** A path; a trailing `{id}` matches the rest, slashes included. */
  pattern: string;
};

/** Needs a key. */
type EndpointRow = Row & {
  /** Name of the endpoint that serves it, a key of `Endpoints` (http/stages.ts). */
  endpoint: string;
  /** The caller's protocol of this path and of all below it, routes or not; of other paths it is `chat`. */
  protocol?: 'chat' | 'messages' | 'responses';
  /** Value of the metric dimension `Route`: three series. Rows without one are counted as `other`. */
  series?: string;
  /** A header that is optional, but must be a date if it is sent. */
  dateHeader?: string;
  /** A POST whose body is ignored. */
  isBodyless?: true;
  /** Clients of the vendor first try a WebSocket on the path. */
  triesWebSocket?: true;
};

/** Needs no key: the body of a 200. */
type FixedRow = Row & { method: 'GET'; body: Record<string, string> };

export type RouteRow = EndpointRow | FixedRow;

/** Agents probe these paths before they send a key. */
const GREETING = { service: 'model-router', status: 'ok' };

export const ROUTES = [
  {
    method: 'POST',
    pattern: '/v1/chat/completions',
    endpoint: 'generate',
    protocol: 'chat',
    series: '/v1/chat/completions',
  },
  {
    method: 'POST',
    pattern: '/v1/messages',
    endpoint: 'generate',
    protocol: 'messages',
    series: '/v1/messages',
    dateHeader: 'anthropic-version',
  },
  {
    method: 'POST',
    pattern: '/v1/responses',
    endpoint: 'respond',
    protocol: 'responses',
    series: '/v1/responses',
    triesWebSocket: true,
  },
  {
    method: 'POST',
    pattern: '/v1/messages/count_tokens',
    endpoint: 'countTokens',
    dateHeader: 'anthropic-version',
  },
  { method: 'POST', pattern: '/v1/responses/input_tokens', endpoint: 'countInput' },
  {
    method: 'POST',
    pattern: '/v1/responses/{id}/cancel',
    endpoint: 'cancelResponse',
    isBodyless: true,
  },
  { method: 'GET', pattern: '/v1/responses/{id}/input_items', endpoint: 'listInputItems' },
  { method: 'GET', pattern: '/v1/responses/{id}', endpoint: 'getResponse' },
  { method: 'DELETE', pattern: '/v1/responses/{id}', endpoint: 'deleteResponse' },
  { method: 'POST', pattern: '/v1/requests/{id}/cancel', endpoint: 'cancel', isBodyless: true },
  { method: 'GET', pattern: '/v1/models', endpoint: 'listModels' },
  { method: 'GET', pattern: '/v1/models/{id}', endpoint: 'getModel' },
  { method: 'GET', pattern: '/v1/usage', endpoint: 'usage' },
  { method: 'GET', pattern: '/v1/requests/{id}', endpoint: 'explainRequest' },
  { method: 'GET', pattern: '/v1/sessions/{id}', endpoint: 'explainSession' },
  { method: 'GET', pattern: '/', body: GREETING },
  { method: 'GET', pattern: '/api/hello', body: GREETING },
] as const satisfies readonly RouteRow[];

export type EndpointName = Extract<(typeof ROUTES)[number], { endpoint: string }>['endpoint'];

export const ENDPOINT_NAMES: EndpointName[] = [
  ...new Set(ROUTES.flatMap((row) => ('endpoint' in row ? [row.endpoint] : []))),
];
