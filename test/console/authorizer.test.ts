import { once } from 'node:events';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { authorizeUrl, newAttempt } from '../../console/api/user-pool.ts';
import { synthTemplate } from '../lib/synth.ts';
import { type Deployment, startDeployment } from '../support/deployment/start-deployment.ts';
import { createUserPool, type PoolUser } from '../support/deployment/user-pool.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment(synthTemplate({ functionUrl: 'off' }));
});
afterAll(() => deployment.close());

const Answer = z.object({ id_token: z.string(), access_token: z.string() });

/** Tokens that a pool issues to a user of the console. */
const tokensOf = async (
  pool: Deployment['pool'],
  { email, password }: PoolUser,
  clientId = deployment.client.id,
) => {
  const { domain } = deployment.signIn;
  const [returnTo = ''] = deployment.client.CallbackURLs;
  const { verifier, state } = newAttempt();
  const url = await authorizeUrl({ domain, clientId }, { verifier, state }, returnTo);
  const login = new URL(`/login${url.search}`, url);
  const form = (fields: Record<string, string>) => ({
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  });
  const returned = await pool.respond(new Request(login, form({ username: email, password })));
  const code = new URL(returned.headers.get('location') ?? '').searchParams.get('code') ?? '';
  const answer = await pool.respond(
    new Request(
      new URL('/oauth2/token', url),
      form({
        grant_type: 'authorization_code',
        client_id: clientId,
        code,
        code_verifier: verifier,
        redirect_uri: returnTo,
      }),
    ),
  );
  return Answer.parse(await answer.json());
};

const newUser = (...groups: string[]) => ({
  email: `${groups.join('-') || 'none'}@example.com`,
  password: 'Correct-horse-9',
  groups,
});

/** Sends a request to the REST API of the deployment. */
const send = async (path: string, authorization?: string, method = 'GET') => {
  const { host, pathname } = new URL(deployment.baseUrl);
  const sent = request({
    host: '127.0.0.1',
    port: deployment.port,
    method,
    path: `${pathname}${path}`,
    headers: { host, ...(authorization !== undefined && { authorization }) },
    rejectUnauthorized: false,
  });
  sent.end();
  const [response] = await once(sent, 'response');
  return { status: response.statusCode, text: await text(response) };
};

const PROJECTS = '/dashboard/api/projects';

test("a user's ID token is accepted, with its roles and its e-mail as the name in the audit", async () => {
  const { pool, admin } = deployment;
  const user = pool.addUser(newUser('operators', 'operator', 'project:own'));
  const { id_token: token } = await tokensOf(pool, user);
  const { status, text } = await send(PROJECTS, token);
  expect({ status, text }).toEqual({ status: 200, text: expect.stringContaining('"local"') });
  expect(admin.lines.at(-1)).toContain(`"operator":"${user.email}"`);
});

test('a user with an unverified address is named by the id that the pool gave it', async () => {
  const { pool, admin } = deployment;
  const user = pool.addUser({ ...newUser('operator'), isUnverified: true });
  const { id_token: token } = await tokensOf(pool, user);
  expect((await send(PROJECTS, token)).status).toBe(200);
  expect(admin.lines.at(-1)).toContain(`"operator":"${user.sub}"`);
  expect(admin.lines.at(-1)).not.toContain(user.email);
});

describe('a call of the console gets 401', () => {
  const issue = async () => tokensOf(deployment.pool, deployment.pool.addUser(newUser('operator')));
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

  const cases: [string, () => Promise<string | undefined>][] = [
    ['without a token', async () => undefined],
    ['with an empty token', async () => ''],
    ['with an access token', async () => (await issue()).access_token],
    [
      'with an expired ID token',
      async () => {
        const { id_token: token } = await issue();
        deployment.clock.advance(15 * 60_000);
        return token;
      },
    ],
    [
      'with a token of another pool',
      async () => {
        const { client, clock, signIn } = deployment;
        const [poolId, region] = ['eu-west-1_Example02', 'eu-west-1'];
        const other = createUserPool({
          poolId,
          region,
          domain: signIn.domain,
          clients: [client],
          clock,
        });
        return (await tokensOf(other, other.addUser(newUser('operator')))).id_token;
      },
    ],
    [
      'with an ID token for another client of the pool',
      async () => {
        const { pool, otherClient } = deployment;
        return (await tokensOf(pool, pool.addUser(newUser('operator')), otherClient)).id_token;
      },
    ],
    [
      'with changed claims',
      async () => {
        const [header, payload = '', signature] = (await issue()).id_token.split('.');
        const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
        return [header, part({ ...claims, email: 'root@example.com' }), signature].join('.');
      },
    ],
    [
      'with an unsigned token',
      async () => {
        const [, payload] = (await issue()).id_token.split('.');
        return `${part({ alg: 'none' })}.${payload}.`;
      },
    ],
  ];

  test.each(cases)('%s', async (_, tokenOf) => {
    const { lines } = deployment.admin;
    lines.length = 0;
    const { status, text } = await send(PROJECTS, await tokenOf());
    expect({ status, text }).toEqual({
      status: 401,
      text: expect.stringContaining('Sign in again.'),
    });
    expect(lines).toEqual([]);
  });
});

test('the page needs no token, and an ID token opens no path of the operators', async () => {
  const { id_token: token } = await tokensOf(
    deployment.pool,
    deployment.pool.addUser(newUser('operator')),
  );
  expect(await send('/dashboard')).toMatchObject({ status: 200 });
  expect(await send('/admin/projects', token)).toMatchObject({ status: 404 });
});
