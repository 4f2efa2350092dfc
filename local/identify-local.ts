import { CONSOLE_API, isConsoleFile } from '../lambdas/admin/console.ts';
import type { Identity } from '../lambdas/admin/roles.ts';
import type { HttpEvent } from '../lambdas/http/read-event.ts';
import { type ApiError, invalidRequest } from '../lambdas/support/errors.ts';
import type { RequestHead } from '../lambdas/web/request-head.ts';
import { isForeign } from './loopback.ts';

const LOCAL_OPERATOR: Identity = { name: 'local', roles: ['operator'] };

/** Paths of the admin function: the API of the CLI, and the console with its copy of that API. */
export const isAdminPath = (path: string): boolean =>
  path.startsWith('/admin/') || path.startsWith(`${CONSOLE_API}/`) || isConsoleFile(path);

/** A link on another site to the console: the page opens, and the site cannot read it. */
const isLink = ({ path, headers }: RequestHead): boolean =>
  isConsoleFile(path) && headers['sec-fetch-mode'] === 'navigate';

/** Why the local run rejects a request, on any path; undefined accepts it. */
export const rejectForeign = (request: RequestHead): ApiError | undefined => {
  const { headers } = request;
  const isRejected = isForeign(
    isLink(request) ? { ...headers, 'sec-fetch-site': 'none' } : headers,
  );
  if (!isRejected) return undefined;
  return invalidRequest(
    'The local router serves programs of this computer and its own console. Call it at the address that npm start prints; web pages of other sites are rejected.',
    { status: 403 },
  );
};

/**
 * Without IAM, every program that `rejectForeign` accepts is the operator. Of web pages only the console may
 * call: it has the token that only a reader of the page knows, and no page may call what is under `/admin/`.
 */
export const createIdentifyLocal =
  (token: string) =>
  (event: HttpEvent): Identity | undefined => {
    if (!('rawPath' in event)) return undefined;
    const { headers, rawPath } = event;
    const site = headers['sec-fetch-site'];
    const isOperator = rawPath.startsWith(`${CONSOLE_API}/`)
      ? site === 'same-origin' && headers['x-console-token'] === token
      : site === undefined && headers.origin === undefined;
    return isOperator ? LOCAL_OPERATOR : undefined;
  };
