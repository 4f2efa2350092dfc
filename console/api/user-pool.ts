import type { ConsoleSettings } from '../../lambdas/admin/console.ts';
import { ApiFailure, request } from './failure.ts';

/** Managed login of a Cognito user pool: authorization code with PKCE (RFC 7636), for a client without a secret. */
export type SignIn = NonNullable<ConsoleSettings['signIn']>;
export type Tokens = { idToken: string; refreshToken: string; expiresAt: number };
/** What one sign-in keeps until its return; not a secret without the code, which is used once. */
export type Attempt = { verifier: string; state: string };

const base64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

const randomText = (): string => base64Url(crypto.getRandomValues(new Uint8Array(32)));

export const newAttempt = (): Attempt => ({ verifier: randomText(), state: randomText() });

const challengeOf = async (verifier: string): Promise<string> =>
  base64Url(
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))),
  );

const urlOf = ({ domain }: SignIn, path: string, query: Record<string, string> = {}): URL => {
  const url = new URL(`https://${domain}/${path}`);
  url.search = new URLSearchParams(query).toString();
  return url;
};

/** Where the user signs in; the pool then sends it to `returnTo`, with a code. */
export const authorizeUrl = async (
  signIn: SignIn,
  { verifier, state }: Attempt,
  returnTo: string,
): Promise<URL> =>
  urlOf(signIn, 'oauth2/authorize', {
    response_type: 'code',
    client_id: signIn.clientId,
    redirect_uri: returnTo,
    scope: 'openid email',
    state,
    code_challenge: await challengeOf(verifier),
    code_challenge_method: 'S256',
  });

/** Ends the session of the pool, so that the next sign-in asks who it is. */
export const logoutUrl = (signIn: SignIn, returnTo: string): URL =>
  urlOf(signIn, 'logout', { client_id: signIn.clientId, logout_uri: returnTo });

const post = (signIn: SignIn, path: string, fields: Record<string, string>, init = {}) =>
  request(urlOf(signIn, path), {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ client_id: signIn.clientId, ...fields }).toString(),
    ...init,
  });

type TokenResponse = { id_token: string; refresh_token?: string; expires_in: number };

/** @throws ApiFailure 401 if the pool rejects the grant, without a status if it does not answer */
const fetchTokens = async (
  signIn: SignIn,
  fields: { grant_type: string; refresh_token?: string } & Record<string, string>,
): Promise<Tokens> => {
  const response = await post(signIn, 'oauth2/token', fields);
  if (response.status >= 500) throw new ApiFailure('The sign-in is unavailable. Try again.');
  if (!response.ok) throw new ApiFailure('The sign-in has ended. Sign in again.', { status: 401 });
  const tokens = (await response.json()) as TokenResponse;
  const { id_token, refresh_token = '', expires_in } = tokens;
  return {
    idToken: id_token,
    refreshToken: refresh_token || (fields.refresh_token ?? ''),
    expiresAt: Date.now() + expires_in * 1000,
  };
};

type Return = { code: string; verifier: string; returnTo: string };

/** Tokens for a code, which is used once. @throws ApiFailure */
export const redeemCode = (signIn: SignIn, { code, verifier, returnTo }: Return): Promise<Tokens> =>
  fetchTokens(signIn, {
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    redirect_uri: returnTo,
  });

/** New tokens; the refresh token stays. @throws ApiFailure, 401 if the user was removed or the sign-in is over */
export const refreshTokens = (signIn: SignIn, { refreshToken }: Tokens): Promise<Tokens> =>
  fetchTokens(signIn, { grant_type: 'refresh_token', refresh_token: refreshToken });

/** Ends a refresh token; also while the page is left. */
export const revokeTokens = (signIn: SignIn, { refreshToken }: Tokens): Promise<Response> =>
  post(signIn, 'oauth2/revoke', { token: refreshToken }, { keepalive: true });

export type Claims = { email?: string; sub: string; 'cognito:groups'?: string[] };

/** The claims, unverified: the page shows them, and the server checks each call. */
export const claimsOf = ({ idToken }: Tokens): Claims => {
  const payload = (idToken.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
  const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
};
