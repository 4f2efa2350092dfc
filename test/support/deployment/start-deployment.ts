import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { buffer } from 'node:stream/consumers';
import type { Template } from 'aws-cdk-lib/assertions';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import * as z from 'zod';
import { bundleConsole } from '../../../console/bundle.ts';
import type { ConsoleParts } from '../../../lambdas/admin/console.ts';
import type { AdminHandler } from '../../../lambdas/admin/create-admin-handler.ts';
import { createReadStreamedFile } from '../../../lambdas/admin/read-streamed-file.ts';
import { systemClock } from '../../../lambdas/support/clock.ts';
import { createLog } from '../../../lambdas/support/log.ts';
import { withBrotli } from '../../../lib/bundle/bundle.ts';
import { listen } from '../../../local/loopback.ts';
import { adminOn } from '../admin-bench.ts';
import { connectBoth } from '../dynamo.ts';
import { startOnDynamo } from '../dynamo-stores.ts';
import { createManualClock } from '../manual-clock.ts';
import { Resources, resolveText, resourceOf } from './resources.ts';
import { createRestApi } from './rest-api.ts';
import { createCertificate } from './self-signed.ts';
import { verifyIdToken } from './tokens.ts';
import { createUserPool, type PoolClient } from './user-pool.ts';

const REGION = 'eu-west-1';
const API_ID = 'a1b2c3d4e5';
const POOL_ID = `${REGION}_Example01`;
/** A client of the pool that is not the console. */
const OTHER_CLIENT = '6otherclient';
const API_HOST = `${API_ID}.execute-api.${REGION}.amazonaws.com`;

const Client = z.object({
  CallbackURLs: z.array(z.unknown()),
  LogoutURLs: z.array(z.unknown()),
  AllowedOAuthFlows: z.array(z.string()),
  AllowedOAuthScopes: z.array(z.string()),
  GenerateSecret: z.literal(false),
  TokenValidityUnits: z.record(z.string(), z.literal('minutes')),
  IdTokenValidity: z.number(),
  AccessTokenValidity: z.number(),
  RefreshTokenValidity: z.number(),
});
const Environment = z.object({
  Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }),
});

/** What the template makes of the pool, its client and the admin function. */
const readTemplate = (resources: Resources) => {
  const clientResource = resourceOf(resources, 'AWS::Cognito::UserPoolClient');
  const domain = resourceOf(resources, 'AWS::Cognito::UserPoolDomain');
  const values: Record<string, string> = {
    'AWS::Region': REGION,
    'AWS::AccountId': '123456789012',
    'AWS::URLSuffix': 'amazonaws.com',
    [resourceOf(resources, 'AWS::ApiGateway::RestApi').id]: API_ID,
    [clientResource.id]: '5exampleclient',
  };
  values[domain.id] = resolveText(domain.properties.Domain, values);
  const textsOf = (list: unknown[]) => list.map((value) => resolveText(value, values));
  const properties = Client.parse(clientResource.properties);
  const client: PoolClient = {
    ...properties,
    id: values[clientResource.id] ?? '',
    CallbackURLs: textsOf(properties.CallbackURLs),
    LogoutURLs: textsOf(properties.LogoutURLs),
  };
  const admin = resourceOf(resources, 'AWS::Lambda::Function', 'Admin').properties;
  const { Variables } = Environment.parse(admin).Environment;
  const variable = (name: string): string => resolveText(Variables[name], values);
  const authorizer = resourceOf(resources, 'AWS::ApiGateway::Authorizer').properties;
  const { IdentityValidationExpression: audience } = authorizer;
  return {
    client,
    stage: variable('STAGE'),
    folder: variable('CONSOLE_FOLDER'),
    signIn: { domain: variable('SIGN_IN_DOMAIN'), clientId: variable('SIGN_IN_CLIENT') },
    audience: audience === undefined ? undefined : new RegExp(resolveText(audience, values)),
  };
};

const integrateAdmin = (handler: AdminHandler) => async (event: APIGatewayProxyEvent) => {
  const { statusCode: status, headers, body } = await handler(event, {});
  return new Response(String(body), { status, headers });
};

/** As `lambdas/console-files.ts`. */
const integrateFiles = (console: ConsoleParts) => {
  const readFile = createReadStreamedFile({
    console,
    log: createLog(() => {}),
    clock: systemClock,
    randomBytes,
  });
  return async (event: APIGatewayProxyEvent) => {
    const { statusCode: status, headers, body } = await readFile(event, {});
    return new Response(typeof body === 'string' ? body : new Uint8Array(body), {
      status,
      headers,
    });
  };
};

const integrateRouter = (baseUrl: string) => async (event: APIGatewayProxyEvent) =>
  fetch(`${baseUrl}${event.path}`, {
    method: event.httpMethod,
    headers: { authorization: event.headers.Authorization ?? event.headers.authorization ?? '' },
    body: event.body,
  });

/** A domain of the deployment. */
type Host = (incoming: IncomingMessage, body: Buffer) => Promise<Response>;

const serve = (hosts: Record<string, Host>) => {
  const respond = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const host = hosts[incoming.headers.host ?? ''];
    if (!host) throw new Error(`No host ${incoming.headers.host}.`);
    const answer = await host(incoming, await buffer(incoming));
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    outgoing.end(Buffer.from(await answer.arrayBuffer()));
  };
  return listen(createServer(createCertificate(Object.keys(hosts)), respond), () => true);
};

/**
 * A deployed stack on loopback, under its names on AWS: the template's REST API and user pool over TLS, the admin
 * function behind them, and a router on the same tables. Time is manual for the pool and the authorizer.
 */
export const startDeployment = async (template: Template) => {
  const resources = Resources.parse(template.toJSON().Resources);
  const { client, stage, folder, signIn, audience } = readTemplate(resources);
  const clock = createManualClock(Date.now());
  const router = await startOnDynamo();
  const dynamo = connectBoth(router.endpoints.dynamo);
  const files = withBrotli(bundleConsole());
  const console = { readFiles: () => files, settings: { stage, signIn }, folder };
  const admin = adminOn(dynamo.client, {
    models: router.models,
    console,
  });
  const pool = createUserPool({
    poolId: POOL_ID,
    region: REGION,
    domain: signIn.domain,
    clients: [client, { ...client, id: OTHER_CLIENT }],
    clock,
  });
  const restApi = createRestApi({
    resources,
    stage,
    clock,
    verify: (token) => verifyIdToken(token, { ...pool, audience, now: clock.now() }),
    integrations: {
      AdminFunction: integrateAdmin(admin.handler),
      ConsoleFilesFunction: integrateFiles(console),
      RouterFunction: integrateRouter(router.baseUrl),
    },
  });
  const respondPool: Host = async ({ url = '', method = '', headers }, body) =>
    pool.respond(
      new Request(`https://${signIn.domain}${url}`, {
        method,
        headers: { cookie: headers.cookie ?? '', 'content-type': headers['content-type'] ?? '' },
        ...(method === 'POST' && { body: new Uint8Array(body) }),
      }),
    );
  const server = await serve({ [API_HOST]: restApi, [signIn.domain]: respondPool });
  return {
    clock,
    pool,
    client,
    otherClient: OTHER_CLIENT,
    signIn,
    admin,
    router,
    /** Base address of the stage. */
    baseUrl: `https://${API_HOST}/${stage}`,
    /** Port on which both hosts listen. */
    port: new URL(server.url).port,
    close: async () => {
      await server.close();
      await dynamo.close();
      await router.close();
    },
  };
};
export type Deployment = Awaited<ReturnType<typeof startDeployment>>;
