import type { Endpoint, Reply } from '../endpoints/endpoint.ts';

export type Route = {
  method: 'GET' | 'POST' | 'OPTIONS';
  /** A path; a trailing `{id}` takes all that follows, slashes included. */
  pattern: string;
  /** An endpoint needs a key; a fixed reply does not. */
  serve: { endpoint: Endpoint } | { reply: Reply };
  /** A header that must hold a date when it is sent at all. */
  dateHeader?: string;
};

export type Endpoints = {
  generate: Endpoint;
  countTokens: Endpoint;
  listModels: Endpoint;
  getModel: Endpoint;
  usage: Endpoint;
};

/** Agents probe these addresses before they send a key. */
const GREETING: Reply = { status: 200, body: { service: 'model-router', status: 'ok' } };
const VERSION_HEADER = 'anthropic-version';

/** The public surface of the service, as data. HEAD and OPTIONS follow from it. */
export const createRoutes = (endpoints: Endpoints): Route[] => [
  { method: 'GET', pattern: '/', serve: { reply: GREETING } },
  { method: 'GET', pattern: '/api/hello', serve: { reply: GREETING } },
  { method: 'GET', pattern: '/v1/models', serve: { endpoint: endpoints.listModels } },
  { method: 'GET', pattern: '/v1/models/{id}', serve: { endpoint: endpoints.getModel } },
  { method: 'GET', pattern: '/v1/usage', serve: { endpoint: endpoints.usage } },
  { method: 'POST', pattern: '/v1/chat/completions', serve: { endpoint: endpoints.generate } },
  {
    method: 'POST',
    pattern: '/v1/messages',
    serve: { endpoint: endpoints.generate },
    dateHeader: VERSION_HEADER,
  },
  {
    method: 'POST',
    pattern: '/v1/messages/count_tokens',
    serve: { endpoint: endpoints.countTokens },
    dateHeader: VERSION_HEADER,
  },
];
