import { timingSafeEqual } from 'node:crypto';
import { CONSOLE_API, CONTRACT_PATH, isConsoleFile } from '../lambdas/admin/console.ts';
import type { Identity } from '../lambdas/admin/roles.ts';
import type { Delivered } from '../lambdas/http/read-event.ts';
import { sha256Of } from '../lambdas/support/bytes.ts';
import {
  type ApiError,
  invalidRequest,
  unauthenticated,
  withHeaders,
} from '../lambdas/support/errors.ts';
import type { RequestHead } from '../lambdas/web/request-head.ts';
import { isForeign, isOtherSite } from './loopback.ts';

const LOCAL_OPERATOR: Identity = { name: 'local', roles: ['operator'] };

/** Paths of the admin function: the API of the CLI, and the console with its copy of that API. */
export const isAdminPath = (path: string): boolean =>
  path.startsWith('/admin/') || path.startsWith(`${CONSOLE_API}/`) || isConsoleFile(path);

/** A link on another site to the console: the page opens, and the site cannot read it. */
const isLink = ({ path, headers }: Pick<RequestHead, 'path' | 'headers'>): boolean =>
  isConsoleFile(path) && headers['sec-fetch-mode'] === 'navigate';

/** Why a router on the loopback address rejects a request, on any path; undefined accepts it. */
const rejectForeign = (request: RequestHead): ApiError | undefined => {
  const { headers } = request;
  const isRejected = isForeign(
    isLink(request) ? { ...headers, 'sec-fetch-site': 'none' } : headers,
  );
  if (!isRejected) return undefined;
  return invalidRequest(
    'The local router serves programs of this computer and its own console. Call it at the address that it printed; web pages of other sites are rejected.',
    { status: 403 },
  );
};

/** The secret as a bearer token, or as the password that a browser asks for. */
const secretIn = (authorization = ''): string => {
  const { scheme = '', value = '' } =
    /^(?<scheme>bearer|basic) (?<value>.*)$/i.exec(authorization)?.groups ?? {};
  if (scheme.toLowerCase() !== 'basic') return value;
  return Buffer.from(value, 'base64').toString().split(':').slice(1).join(':');
};

/** A comparison of digests takes the same time wherever the texts differ. */
const isSecret = (given: string, secret: string): boolean =>
  timingSafeEqual(Buffer.from(sha256Of(given)), Buffer.from(sha256Of(secret)));

/** Why a router that other machines reach rejects a request: what is the operator's requires the secret. */
const createRejectStranger =
  (secret: string) =>
  ({ path, headers }: RequestHead): ApiError | undefined => {
    if (!isAdminPath(path) || path === CONTRACT_PATH) return undefined;
    const { authorization } = headers;
    if (!isSecret(secretIn(authorization), secret)) {
      return withHeaders(unauthenticated('This is for the operator: send the admin secret.'), {
        'www-authenticate': 'Basic realm="model-router", charset="UTF-8"',
      });
    }
    // A browser adds a password that it knows also to what a page of another site sends.
    return isOtherSite(headers) && !isLink({ path, headers })
      ? invalidRequest('Web pages of other sites are rejected.', { status: 403 })
      : undefined;
  };

/**
 * Who may call what. Without IAM, everyone whom `reject` accepts is the operator: on the loopback address every program,
 * otherwise who has the secret. Of web pages only the console may call: it has the token that only a reader of the page
 * knows, and no page may call what is under `/admin/`.
 */
export const createLocalAccess = (token: string, secret: string | undefined) => ({
  /** Why a request is rejected before anything of it is used; undefined accepts it. */
  reject: secret === undefined ? rejectForeign : createRejectStranger(secret),
  identify: (event: Delivered): Identity | undefined => {
    if (!('source' in event)) return undefined;
    const { headers, path } = event;
    const site = headers['sec-fetch-site'];
    const isOperator = path.startsWith(`${CONSOLE_API}/`)
      ? site === 'same-origin' && headers['x-console-token'] === token
      : site === undefined && headers.origin === undefined;
    return isOperator ? LOCAL_OPERATOR : undefined;
  },
});
