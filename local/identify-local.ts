import { CONSOLE_API, isConsoleFile } from '../lambdas/admin/console.ts';
import type { Identity } from '../lambdas/admin/roles.ts';
import type { HttpEvent, HttpRequest } from '../lambdas/http/read-event.ts';

const LOOPBACK_HOST = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/;

const LOCAL_OPERATOR: Identity = { name: 'local', roles: ['operator'] };

/** Whether the address in the browser is this computer's; after DNS rebinding it is another name. */
export const isForLoopback = ({ headers }: Pick<HttpRequest, 'headers'>): boolean =>
  LOOPBACK_HOST.test(headers.host ?? '');

/** Paths of the admin function: the API of the CLI, and the console with its copy of that API. */
export const isAdminPath = (path: string): boolean =>
  path.startsWith('/admin/') || path.startsWith(`${CONSOLE_API}/`) || isConsoleFile(path);

/**
 * Without IAM, every client of the loopback address is the operator, except web pages open in a browser
 * of this computer. Under `/admin/` a page is recognized by its Origin or, after DNS rebinding, its Host.
 * The console is the one page that may call: it has the origin of its calls, and the token that only a
 * reader of the page knows.
 */
export const createIdentifyLocal = (token: string) => {
  const isOwnPage = ({ host, origin, ...headers }: Record<string, string | undefined>): boolean =>
    (origin === undefined || origin === `http://${host}`) &&
    headers['sec-fetch-site'] === 'same-origin' &&
    headers['x-console-token'] === token;

  return (event: HttpEvent): Identity | undefined => {
    if (!('rawPath' in event)) return undefined;
    const { headers, rawPath } = event;
    const isOperator = rawPath.startsWith(`${CONSOLE_API}/`)
      ? isOwnPage(headers)
      : headers.origin === undefined;
    return isOperator && LOOPBACK_HOST.test(headers.host ?? '') ? LOCAL_OPERATOR : undefined;
  };
};
