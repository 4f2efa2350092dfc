import { createServer } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  authorizeUrl,
  claimsOf,
  newAttempt,
  redeemCode,
  refreshTokens,
  revokeTokens,
  type SignIn,
} from '../../console/api/user-pool.ts';
import { type Listening, listen } from '../../local/loopback.ts';
import { createCertificate } from '../support/deployment/self-signed.ts';
import { createUserPool, type PoolClient } from '../support/deployment/user-pool.ts';
import { createManualClock } from '../support/manual-clock.ts';

const MINUTE_MS = 60_000;
const RETURN_TO = 'https://console.test/prod/dashboard';
const CLIENT: PoolClient = {
  id: 'client',
  CallbackURLs: [RETURN_TO],
  LogoutURLs: [RETURN_TO],
  AllowedOAuthFlows: ['code'],
  AllowedOAuthScopes: ['openid', 'email'],
  IdTokenValidity: 15,
  AccessTokenValidity: 15,
  RefreshTokenValidity: 720,
};
const USER = { email: 'olga@example.com', password: 'Correct-horse-9', groups: ['operator'] };
const ENDED = { status: 401, message: 'The sign-in has ended. Sign in again.' };

const clock = createManualClock(Date.now());
const trusted = getCACertificates('default');
let server: Listening;
let pool: ReturnType<typeof createUserPool>;
let signIn: SignIn;

beforeAll(async () => {
  const certificate = createCertificate(['localhost']);
  server = await listen(
    createServer(certificate, async (incoming, outgoing) => {
      const { method = '', url = '', headers } = incoming;
      const body = new Uint8Array(await buffer(incoming));
      const answer = await pool.respond(
        new Request(`https://${signIn.domain}${url}`, {
          method,
          headers: { 'content-type': headers['content-type'] ?? '' },
          ...(method === 'POST' && { body }),
        }),
      );
      outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
      outgoing.end(await answer.text());
    }),
  );
  setDefaultCACertificates([...trusted, certificate.cert]);
  const domain = `localhost:${new URL(server.url).port}`;
  signIn = { domain, clientId: CLIENT.id };
  pool = createUserPool({ poolId: 'pool', region: 'eu-west-1', domain, clients: [CLIENT], clock });
  pool.addUser(USER);
});
afterAll(async () => {
  setDefaultCACertificates(trusted);
  await server.close();
});

/** Where the pool sends the browser. */
const redirectOf = async (url: URL, init: RequestInit = {}): Promise<URL> => {
  const response = await fetch(url, { ...init, redirect: 'manual' });
  expect(response.status).toBe(302);
  return new URL(response.headers.get('location') ?? '');
};

/** Signs in at the form, and returns what the console needs for the tokens. */
const visitLogin = async () => {
  const attempt = newAttempt();
  const form = await redirectOf(await authorizeUrl(signIn, attempt, RETURN_TO));
  expect(form.pathname).toBe('/login');
  const body = new URLSearchParams({ username: USER.email, password: USER.password });
  const { searchParams } = await redirectOf(form, { method: 'POST', body });
  expect(searchParams.get('state')).toBe(attempt.state);
  const { verifier } = attempt;
  return { code: searchParams.get('code') ?? '', verifier, returnTo: RETURN_TO };
};

test('a code and its verifier become tokens of the user, which are renewed until they are revoked', async () => {
  const tokens = await redeemCode(signIn, await visitLogin());
  expect(claimsOf(tokens)).toMatchObject({ email: USER.email, 'cognito:groups': ['operator'] });
  clock.advance(20 * MINUTE_MS);
  const renewed = await refreshTokens(signIn, tokens);
  expect(renewed.idToken).not.toBe(tokens.idToken);
  expect(renewed.refreshToken).toBe(tokens.refreshToken);
  await revokeTokens(signIn, renewed);
  await expect(refreshTokens(signIn, renewed)).rejects.toMatchObject(ENDED);
});

test('a code is used once', async () => {
  const returned = await visitLogin();
  await redeemCode(signIn, returned);
  await expect(redeemCode(signIn, returned)).rejects.toMatchObject(ENDED);
});

test('a wrong verifier is rejected, and uses up the code', async () => {
  const returned = await visitLogin();
  const { verifier } = newAttempt();
  await expect(redeemCode(signIn, { ...returned, verifier })).rejects.toMatchObject(ENDED);
  await expect(redeemCode(signIn, returned)).rejects.toMatchObject(ENDED);
});

test('a code for another address, or of more than five minutes ago, is rejected', async () => {
  const returnTo = `${RETURN_TO}/`;
  const elsewhere = { ...(await visitLogin()), returnTo };
  await expect(redeemCode(signIn, elsewhere)).rejects.toMatchObject(ENDED);
  const late = await visitLogin();
  clock.advance(5 * MINUTE_MS + 1);
  await expect(redeemCode(signIn, late)).rejects.toMatchObject(ENDED);
});

test('tokens are not renewed after 12 hours', async () => {
  const tokens = await redeemCode(signIn, await visitLogin());
  clock.advance(12 * 60 * MINUTE_MS + 1);
  await expect(refreshTokens(signIn, tokens)).rejects.toMatchObject(ENDED);
});

test('the tokens of a removed user are not renewed', async () => {
  const tokens = await redeemCode(signIn, await visitLogin());
  pool.removeUser(USER.email);
  await expect(refreshTokens(signIn, tokens)).rejects.toMatchObject(ENDED);
  pool.addUser(USER);
});

test.each([
  ['another address', { redirect_uri: `${RETURN_TO}/` }, 'redirect_mismatch'],
  ['another client', { client_id: 'other' }, 'invalid_client'],
  ['tokens in the address', { response_type: 'token' }, 'unauthorized_client'],
  ['no challenge', { code_challenge: '' }, 'invalid_request'],
  ['a plain challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
  ['a scope that the client lacks', { scope: 'openid phone' }, 'invalid_scope'],
])('the pool rejects a sign-in with %s', async (_, change, error) => {
  const url = await authorizeUrl(signIn, newAttempt(), RETURN_TO);
  for (const [name, value] of Object.entries(change)) url.searchParams.set(name, value);
  expect((await redirectOf(url)).searchParams.get('error')).toBe(error);
});

test('a pool that does not answer is a failure without a status: the sign-in is not over', async () => {
  const unreachable = { ...signIn, domain: 'localhost:1' };
  const tokens = { idToken: '', refreshToken: 'token', expiresAt: 0 };
  const failure = { status: 0, message: 'No answer from https://localhost:1.' };
  await expect(refreshTokens(unreachable, tokens)).rejects.toMatchObject(failure);
});
