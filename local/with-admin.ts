import type { AdminHandler } from '../lambdas/admin/create-admin-handler.ts';
import type { HttpHandler } from '../lambdas/http/create-http-handler.ts';
import type { HttpEvent } from '../lambdas/http/read-event.ts';
import { withPrelude } from '../lambdas/web/lambda-runtime.ts';

const LOOPBACK_HOST = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/;

/**
 * Who may operate here: whoever reaches the loopback address, without IAM. Not so a web page that the
 * same person has open: it sends an Origin, or by a DNS trick the name of its own host.
 */
export const localOperator = ({ headers }: HttpEvent): string | undefined =>
  headers.origin === undefined && LOOPBACK_HOST.test(headers.host ?? '') ? 'local' : undefined;

const isForAdmin = (event: HttpEvent): boolean =>
  'rawPath' in event && event.rawPath.startsWith('/admin/');

/** Both functions behind one address, as the REST API has them. */
export const withAdmin =
  ({ router, admin }: { router: HttpHandler; admin: AdminHandler }): HttpHandler =>
  async (event, response, context) => {
    if (!isForAdmin(event)) return router(event, response, context);
    const { body, ...prelude } = await admin(event, context);
    withPrelude(response, prelude).end(body);
  };
