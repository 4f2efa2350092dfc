import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import type { Clock } from '../../../lambdas/support/clock.ts';
import { restApiEvent } from '../rest-api-event.ts';
import type { Resources } from './resources.ts';
import type { Claims } from './tokens.ts';

/** A method of a REST API in a template. */
export type ApiMethod = {
  httpMethod: string;
  /** E.g. `/dashboard/{file}`. */
  path: string;
  authorization: string;
  authorizer: unknown;
  /** With the logical id of the function. */
  integration: string;
};

/** The methods of the template's REST API. */
export const methodsIn = (resources: Resources): ApiMethod[] => {
  const pathOf = (reference: unknown): string => {
    const { Ref: id = '' } = reference as { Ref?: string };
    const properties = resources[id]?.Properties;
    if (resources[id]?.Type !== 'AWS::ApiGateway::Resource' || !properties) return '';
    return `${pathOf(properties.ParentId)}/${properties.PathPart}`;
  };
  return Object.values(resources).flatMap(({ Type, Properties }) =>
    Type === 'AWS::ApiGateway::Method'
      ? [
          {
            httpMethod: String(Properties.HttpMethod),
            path: pathOf(Properties.ResourceId),
            authorization: String(Properties.AuthorizationType),
            authorizer: Properties.AuthorizerId,
            integration: JSON.stringify(Properties.Integration),
          },
        ]
      : [],
  );
};

/** Sorts static segments before parameters, and these before a greedy one. */
const rankOf = ({ path }: ApiMethod): string =>
  path
    .split('/')
    .map((segment) => (segment.endsWith('+}') ? 2 : segment.startsWith('{') ? 1 : 0))
    .join('');

const patternOf = ({ path }: ApiMethod): RegExp =>
  new RegExp(`^${path.replaceAll(/\{\w+\+\}/g, '.+').replaceAll(/\{\w+\}/g, '[^/]+') || '/'}$`);

/** Claims as a REST API passes them: texts only, dates as Java prints them, groups with commas. */
const claimTexts = (claims: Claims): Record<string, string> =>
  Object.fromEntries(
    Object.entries(claims).map(([name, value]) => {
      if (name !== 'exp' && name !== 'iat') return [name, String(value)];
      const [day, date, month, year, time] = new Date(Number(value) * 1000)
        .toUTCString()
        .replace(',', '')
        .split(' ');
      return [name, `${day} ${month} ${date} ${time} UTC ${year}`];
    }),
  );

/** What API Gateway responds without a function: the template's gateway response of the type. */
const gatewayResponse = (resources: Resources, type: string, status: number): Response => {
  const found = Object.values(resources).find(
    ({ Type, Properties }) =>
      Type === 'AWS::ApiGateway::GatewayResponse' && Properties.ResponseType === type,
  );
  const { StatusCode = status, ResponseTemplates } = found?.Properties ?? {};
  const requestId = randomUUID();
  const text = (ResponseTemplates as Record<string, string> | undefined)?.['application/json'];
  return new Response(text?.replace('$context.requestId', requestId) ?? '', {
    status: Number(StatusCode),
    headers: { 'content-type': 'application/json', 'x-request-id': requestId },
  });
};

type Integration = (event: APIGatewayProxyEvent) => Promise<Response>;

type RestApiOptions = {
  resources: Resources;
  stage: string;
  verify: (token: string) => Claims | undefined;
  /** By a part of the logical id of the function. */
  integrations: Record<string, Integration>;
  clock: Clock;
};

/**
 * The template's REST API: its methods choose the function, its authorizer checks the token, its gateway responses
 * are the errors. Calls of methods with IAM are rejected.
 */
export const createRestApi = ({
  resources,
  stage,
  verify,
  integrations,
  clock,
}: RestApiOptions) => {
  const methods = methodsIn(resources)
    .map((method) => ({ ...method, pattern: patternOf(method), rank: rankOf(method) }))
    .toSorted((one, other) => (one.rank < other.rank ? -1 : 1));

  return async (incoming: IncomingMessage, body: Buffer): Promise<Response> => {
    incoming.url = incoming.url?.slice(`/${stage}`.length) ?? '/';
    const event = restApiEvent(incoming, body, clock.now());
    const found = methods.find(({ pattern }) => pattern.test(event.path));
    const isFor = found && ['ANY', event.httpMethod].includes(found.httpMethod);
    if (!isFor || found.authorization === 'AWS_IAM') {
      return gatewayResponse(resources, 'MISSING_AUTHENTICATION_TOKEN', 403);
    }
    if (found.authorization === 'COGNITO_USER_POOLS') {
      const claims = verify(incoming.headers.authorization ?? '');
      if (!claims) return gatewayResponse(resources, 'UNAUTHORIZED', 401);
      event.requestContext.authorizer = { claims: claimTexts(claims) };
    }
    const [, integrate] =
      Object.entries(integrations).find(([name]) => found.integration.includes(name)) ?? [];
    if (!integrate) throw new Error(`No function of ${event.path} is in the test.`);
    return integrate(event);
  };
};
