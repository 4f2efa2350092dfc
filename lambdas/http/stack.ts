import type { Authenticate } from '../keys/authenticate.ts';
import type { Clock } from '../support/clock.ts';
import type { RandomBytes } from '../support/ids.ts';
import type { Log } from '../support/log.ts';
import { accessLog } from './middleware/access-log.ts';
import { checkDateHeader } from './middleware/check-date-header.ts';
import { errorEnvelope } from './middleware/error-envelope.ts';
import { findRoute } from './middleware/find-route.ts';
import { identifyCaller } from './middleware/identify-caller.ts';
import { openContext } from './middleware/open-context.ts';
import { readBody } from './middleware/read-body.ts';
import { writeReply } from './middleware/write-reply.ts';
import { protocolOf } from './protocol-of.ts';
import type { Route } from './routes.ts';

export type StackOptions = {
  routes: Route[];
  authenticate: Authenticate;
  log: Log;
  clock: Clock;
  randomBytes: RandomBytes;
};

/** Every request passes these: read downwards on the way in, upwards on the way out. */
export const stack = ({ routes, authenticate, log, clock, randomBytes }: StackOptions) => [
  openContext({ clock, randomBytes, protocolOf }),
  writeReply({ log }),
  accessLog({ log, clock }),
  errorEnvelope({ log }),
  findRoute(routes),
  identifyCaller(authenticate),
  checkDateHeader(),
  readBody(),
];
