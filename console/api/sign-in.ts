import type { ConsoleSettings } from '../../lambdas/admin/console.ts';
import { pageBase } from '../settings.ts';
import { request } from './client.ts';
import { ApiFailure, failureOf } from './failure.ts';

/**
 * Sign-in at the managed login of the user pool: authorization code with PKCE. Tokens are in memory only; a
 * reload asks the pool again, whose cookie answers without a form. What the redirect needs is in the tab's
 * storage, and removed on return: the verifier, the state and the page to return to. None of it is a secret
 * without the code, which is used once.
 */
type SignIn = NonNullable<ConsoleSettings['signIn']>;
export type Tokens = { idToken: string; refreshToken: string; expiresAt: number };
type TokenResponse = { id_token: string; refresh_token?: string; expires_in: number };

const STORED = 'sign-in';
const SIGNED_OUT = 'signed-out';

type Pending = { verifier: string; state: string; hash: string };

const base64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

const randomText = (): string => base64Url(crypto.getRandomValues(new Uint8Array(32)));

const challengeOf = async (verifier: string): Promise<string> =>
  base64Url(
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))),
  );

/** The address of the page, as the pool knows it. */
const returnAddress = (): string => new URL('dashboard', pageBase).href;

const urlOf = ({ domain }: SignIn, path: string, query: Record<string, string>): string =>
  `https://${domain}/${path}?${new URLSearchParams(query)}`;

/** Leaves the page for the sign-in; it returns to the same hash. */
export const goToSignIn = async (signIn: SignIn): Promise<void> => {
  const pending: Pending = { verifier: randomText(), state: randomText(), hash: location.hash };
  sessionStorage.setItem(STORED, JSON.stringify(pending));
  sessionStorage.removeItem(SIGNED_OUT);
  location.assign(
    urlOf(signIn, 'oauth2/authorize', {
      response_type: 'code',
      client_id: signIn.clientId,
      redirect_uri: returnAddress(),
      scope: 'openid email',
      state: pending.state,
      code_challenge: await challengeOf(pending.verifier),
      code_challenge_method: 'S256',
    }),
  );
};

/** Ends the session of the pool too, so that the next sign-in asks who it is. */
export const signOut = (signIn: SignIn): void => {
  sessionStorage.setItem(SIGNED_OUT, 'yes');
  location.assign(
    urlOf(signIn, 'logout', { client_id: signIn.clientId, logout_uri: returnAddress() }),
  );
};

export const hasSignedOut = (): boolean => sessionStorage.getItem(SIGNED_OUT) !== null;

const fetchTokens = async (
  { domain, clientId }: SignIn,
  fields: Record<string, string>,
): Promise<TokenResponse> => {
  const response = await request(new URL(`https://${domain}/oauth2/token`), {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ client_id: clientId, ...fields }).toString(),
  });
  if (!response.ok) throw await failureOf(response);
  return response.json();
};

const tokensIn = (response: TokenResponse, refreshToken = ''): Tokens => ({
  idToken: response.id_token,
  refreshToken: response.refresh_token ?? refreshToken,
  expiresAt: Date.now() + response.expires_in * 1000,
});

/** What the sign-in brought back in the address, which is cleaned. */
const takeReturn = (): { query: URLSearchParams; pending: Pending | undefined } => {
  const query = new URLSearchParams(location.search);
  const stored = sessionStorage.getItem(STORED);
  sessionStorage.removeItem(STORED);
  const pending: Pending | undefined = stored === null ? undefined : JSON.parse(stored);
  if (location.search !== '') {
    history.replaceState(null, '', `${returnAddress()}${pending?.hash ?? ''}`);
  }
  return { query, pending };
};

/**
 * Tokens of a user who returns from the sign-in; undefined for any other visit.
 * @throws ApiFailure if the sign-in failed, or another page started it
 */
export const finishSignIn = async (signIn: SignIn): Promise<Tokens | undefined> => {
  const { query, pending } = takeReturn();
  const error = query.get('error_description') ?? query.get('error');
  if (error) throw new ApiFailure(`The sign-in failed: ${error}.`);
  const code = query.get('code');
  if (code === null) return undefined;
  if (!pending || query.get('state') !== pending.state) {
    throw new ApiFailure('The sign-in was not started in this tab. Sign in again.');
  }
  return tokensIn(
    await fetchTokens(signIn, {
      grant_type: 'authorization_code',
      code,
      code_verifier: pending.verifier,
      redirect_uri: returnAddress(),
    }),
  );
};

/** @throws ApiFailure if the user is removed or the sign-in is over */
export const refresh = async (signIn: SignIn, { refreshToken }: Tokens): Promise<Tokens> =>
  tokensIn(
    await fetchTokens(signIn, { grant_type: 'refresh_token', refresh_token: refreshToken }),
    refreshToken,
  );

export type Claims = { email?: string; sub?: string; 'cognito:groups'?: string[] };

/** The claims, unverified: the page shows them, and the server checks each call. */
export const claimsOf = ({ idToken }: Tokens): Claims => {
  const payload = (idToken.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
  const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
};
