import { createHash, randomUUID } from 'node:crypto';
import type { Clock } from '../../../lambdas/support/clock.ts';
import { type Claims, createSigner } from './tokens.ts';

/** An app client, with the names of CloudFormation. */
export type PoolClient = {
  id: string;
  CallbackURLs: string[];
  LogoutURLs: string[];
  AllowedOAuthFlows: string[];
  AllowedOAuthScopes: string[];
  /** In minutes. */
  IdTokenValidity: number;
  AccessTokenValidity: number;
  RefreshTokenValidity: number;
};

export type PoolUser = {
  sub: string;
  email: string;
  password: string;
  groups: string[];
  isUnverified?: boolean;
};

type Grant = { user: PoolUser; authTime: number; endsAt: number };
type ClientGrant = Grant & { client: PoolClient; scopes: string[] };
type Code = ClientGrant & { redirectUri: string; challenge: string };
type Refresh = ClientGrant & { originJti: string };

const MINUTE_MS = 60_000;
const CODE_LIFE_MS = 5 * MINUTE_MS;
/** The cookie of the managed login. */
const SESSION_LIFE_MS = 60 * MINUTE_MS;
const COOKIE = 'cognito';
const COOKIE_RULES = 'Path=/; Secure; HttpOnly';

const redirect = (to: string, fields: Record<string, string>, headers = {}): Response => {
  const url = new URL(to);
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value);
  return new Response(null, { status: 302, headers: { location: url.href, ...headers } });
};

/** The page of the token endpoint's caller is on another origin. */
const CORS = { 'access-control-allow-origin': '*' };
const failed = (error: string): Response =>
  Response.json({ error }, { status: 400, headers: CORS });

const page = (title: string, body: string, status = 200): Response =>
  new Response(`<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1>${body}`, {
    status,
    headers: {
      'content-type': 'text/html',
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
    },
  });

const LOGIN_FORM =
  '<form method="post"><label>E-mail <input name="username"></label>' +
  '<label>Password <input name="password" type="password"></label><button>Continue</button></form>';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** Members of a map that end; a member is found until then. */
const createGrants = <T extends { endsAt: number }>(clock: Clock) => {
  const grants = new Map<string, T>();
  return {
    add: (grant: T): string => {
      const id = randomUUID();
      grants.set(id, grant);
      return id;
    },
    find: (id: string): T | undefined => {
      const grant = grants.get(id);
      return grant && grant.endsAt > clock.now() ? grant : undefined;
    },
    delete: (id: string) => grants.delete(id),
  };
};

type PoolOptions = {
  poolId: string;
  region: string;
  domain: string;
  clients: PoolClient[];
  clock: Clock;
};

/** The tokens of a user, with the claims that Cognito documents for each. */
const createIssueTokens = ({ poolId, region, clock }: PoolOptions) => {
  const { keys, signToken } = createSigner();
  const issuer = `https://cognito-idp.${region}.amazonaws.com/${poolId}`;
  const issueTokens = ({ user, client, authTime, scopes, originJti }: Refresh) => {
    const { sub, email, groups, isUnverified = false } = user;
    const now = Math.floor(clock.now() / 1000);
    const shared: Claims = {
      sub,
      ...(groups.length > 0 && { 'cognito:groups': groups }),
      iss: issuer,
      origin_jti: originJti,
      event_id: randomUUID(),
      auth_time: Math.floor(authTime / 1000),
      iat: now,
    };
    const { id: clientId, IdTokenValidity: idMinutes, AccessTokenValidity: accessMinutes } = client;
    const id_token = signToken({
      ...shared,
      token_use: 'id',
      aud: clientId,
      'cognito:username': sub,
      ...(scopes.includes('email') && { email, email_verified: !isUnverified }),
      exp: now + idMinutes * 60,
      jti: randomUUID(),
    });
    const access_token = signToken({
      ...shared,
      token_use: 'access',
      client_id: clientId,
      username: sub,
      scope: scopes.join(' '),
      exp: now + accessMinutes * 60,
      jti: randomUUID(),
    });
    return { id_token, access_token, expires_in: accessMinutes * 60, token_type: 'Bearer' };
  };
  return { keys, issuer, issueTokens };
};

type State = PoolOptions & {
  users: Map<string, PoolUser>;
  codes: ReturnType<typeof createGrants<Code>>;
};

const clientOf = ({ clients }: State, parameters: URLSearchParams): PoolClient | undefined =>
  clients.find(({ id }) => id === parameters.get('client_id'));

const isUser = ({ users }: State, { email }: PoolUser): boolean => users.has(email);

/** The error of a request for a code, by the order of Cognito's reference; undefined if there is none. */
const errorIn = (client: PoolClient, query: URLSearchParams): string | undefined => {
  const type = query.get('response_type') ?? '';
  if (!['code', 'token'].includes(type)) return 'invalid_request';
  if (!client.AllowedOAuthFlows.includes(type === 'code' ? 'code' : 'implicit')) {
    return 'unauthorized_client';
  }
  const isS256 = query.get('code_challenge_method') === 'S256';
  if (!isS256 || !/^[\w-]{43}$/.test(query.get('code_challenge') ?? '')) return 'invalid_request';
  const scopes = (query.get('scope') ?? '').split(' ');
  const isAllowed = scopes.every((scope) => client.AllowedOAuthScopes.includes(scope));
  return isAllowed ? undefined : 'invalid_scope';
};

/** The pages of the managed login; one cookie lets a second request for a code pass without a form. */
const createManagedLogin = (state: State) => {
  const { domain, clock, users, codes } = state;
  const sessions = createGrants<Grant>(clock);
  const errorPage = (error: string): Response => redirect(`https://${domain}/error`, { error });

  /** Back to the client, whose address is verified, with its state. */
  const returnWith = (query: URLSearchParams, fields: Record<string, string>, headers = {}) => {
    const state = query.get('state');
    const all = { ...fields, ...(state !== null && { state }) };
    return redirect(query.get('redirect_uri') ?? '', all, headers);
  };

  /** The client of a valid request, or the response to any other. */
  const readRequest = (query: URLSearchParams): PoolClient | Response => {
    const client = clientOf(state, query);
    if (!client) return errorPage('invalid_client');
    if (!client.CallbackURLs.includes(query.get('redirect_uri') ?? '')) {
      return errorPage('redirect_mismatch');
    }
    const error = errorIn(client, query);
    return error === undefined ? client : returnWith(query, { error });
  };

  const grantCode = (
    query: URLSearchParams,
    client: PoolClient,
    { user, authTime }: Grant,
    headers = {},
  ): Response => {
    const code = codes.add({
      user,
      client,
      authTime,
      endsAt: clock.now() + CODE_LIFE_MS,
      redirectUri: query.get('redirect_uri') ?? '',
      challenge: query.get('code_challenge') ?? '',
      scopes: (query.get('scope') ?? '').split(' '),
    });
    return returnWith(query, { code }, headers);
  };

  const authorize = (request: Request, query: URLSearchParams): Response => {
    const client = readRequest(query);
    if (client instanceof Response) return client;
    const [, id = ''] = /\bcognito=([^;]+)/.exec(request.headers.get('cookie') ?? '') ?? [];
    const session = sessions.find(id);
    if (session && isUser(state, session.user)) return grantCode(query, client, session);
    return redirect(`https://${domain}/login`, Object.fromEntries(query));
  };

  const login = async (request: Request, query: URLSearchParams): Promise<Response> => {
    const client = readRequest(query);
    if (client instanceof Response) return client;
    if (request.method === 'GET') return page('Sign in', LOGIN_FORM);
    const form = new URLSearchParams(await request.text());
    const user = users.get(form.get('username') ?? '');
    if (!user || form.get('password') !== user.password) {
      return page('Sign in', `<p role="alert">Incorrect username or password.</p>${LOGIN_FORM}`);
    }
    const session = { user, authTime: clock.now(), endsAt: clock.now() + SESSION_LIFE_MS };
    const cookie = `${COOKIE}=${sessions.add(session)}; Max-Age=3600; ${COOKIE_RULES}; SameSite=Lax`;
    return grantCode(query, client, session, { 'set-cookie': cookie });
  };

  const logout = (query: URLSearchParams): Response => {
    const target = query.get('logout_uri') ?? '';
    if (!clientOf(state, query)?.LogoutURLs.includes(target)) return errorPage('invalid_request');
    return redirect(target, {}, { 'set-cookie': `${COOKIE}=; Max-Age=0; ${COOKIE_RULES}` });
  };

  return { authorize, login, logout };
};

/** Codes and refresh tokens for tokens; both are forms from another origin. */
const createTokenEndpoint = (state: State, issueTokens: (grant: Refresh) => object) => {
  const { clock, codes } = state;
  const refreshes = createGrants<Refresh>(clock);

  const redeem = (form: URLSearchParams, client: PoolClient): Response => {
    const id = form.get('code');
    if (id === null || !form.has('redirect_uri')) return failed('invalid_request');
    const code = codes.find(id);
    codes.delete(id);
    const isProven = code?.challenge === sha256(form.get('code_verifier') ?? '');
    const isSame = code?.redirectUri === form.get('redirect_uri') && code.client === client;
    if (!code || !isProven || !isSame || !isUser(state, code.user)) return failed('invalid_grant');
    const endsAt = clock.now() + client.RefreshTokenValidity * MINUTE_MS;
    const grant = { ...code, endsAt, originJti: randomUUID() };
    const refresh_token = refreshes.add(grant);
    return Response.json({ ...issueTokens(grant), refresh_token }, { headers: CORS });
  };

  const renew = (form: URLSearchParams, client: PoolClient): Response => {
    const id = form.get('refresh_token');
    if (id === null) return failed('invalid_request');
    const grant = refreshes.find(id);
    if (grant?.client !== client || !isUser(state, grant.user)) return failed('invalid_grant');
    return Response.json(issueTokens(grant), { headers: CORS });
  };

  const withForm = async (
    request: Request,
    use: (form: URLSearchParams, client: PoolClient) => Response,
  ) => {
    const isForm = request.headers.get('content-type') === 'application/x-www-form-urlencoded';
    if (request.method !== 'POST' || !isForm) return failed('invalid_request');
    const form = new URLSearchParams(await request.text());
    const client = clientOf(state, form);
    return client ? use(form, client) : failed('invalid_client');
  };

  const grantTokens = (form: URLSearchParams, client: PoolClient): Response => {
    const type = form.get('grant_type');
    if (type === 'authorization_code') return redeem(form, client);
    return type === 'refresh_token' ? renew(form, client) : failed('unsupported_grant_type');
  };

  const revokeToken = (form: URLSearchParams): Response => {
    refreshes.delete(form.get('token') ?? '');
    return new Response(null, { status: 200, headers: CORS });
  };

  return {
    token: (request: Request) => withForm(request, grantTokens),
    revoke: (request: Request) => withForm(request, revokeToken),
  };
};

/**
 * A user pool with its managed login, from Cognito's reference of the endpoints, RFC 6749 and RFC 7636. Stricter in
 * one place: each code needs a challenge, as OAuth 2.1 requires of public clients.
 */
export const createUserPool = (options: PoolOptions) => {
  const users = new Map<string, PoolUser>();
  const state: State = { ...options, users, codes: createGrants<Code>(options.clock) };
  const { keys, issuer, issueTokens } = createIssueTokens(options);
  const { authorize, login, logout } = createManagedLogin(state);
  const { token, revoke } = createTokenEndpoint(state, issueTokens);
  return {
    keys,
    issuer,
    addUser: (user: Omit<PoolUser, 'sub'>): PoolUser => {
      const added = { ...user, sub: randomUUID() };
      users.set(user.email, added);
      return added;
    },
    removeUser: (email: string) => users.delete(email),
    /** Responds to requests to the domain of the managed login. */
    respond: async (request: Request): Promise<Response> => {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === '/oauth2/authorize') return authorize(request, searchParams);
      if (pathname === '/login') return login(request, searchParams);
      if (pathname === '/oauth2/token') return token(request);
      if (pathname === '/oauth2/revoke') return revoke(request);
      if (pathname === '/logout') return logout(searchParams);
      return page('An error was encountered with the requested page.', '', 400);
    },
  };
};
