// First import: it sets the global `awslambda`, which the handler reads on creation.
import './web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import { readHttpEndpoint } from './env.ts';
import { createAcceptsBody } from './keys/authenticate.ts';
import { authenticate, handler } from './router.ts';
import { systemClock } from './support/clock.ts';
import { allocateYoung } from './web/heap.ts';
import { startServer } from './web/server.ts';

/** The router as a plain HTTP server: a Lambda Web Function, or any other place that runs Node. */
const start = async (): Promise<void> => {
  const server = await startServer({
    handler,
    ...readHttpEndpoint(process.env),
    acceptsBody: createAcceptsBody(authenticate),
    clock: systemClock,
    randomBytes,
  });
  // Before, Node would no longer use the code that it has cached of its modules.
  allocateYoung();
  // A Web Function has a second from here. Later responses are cut in mid-chunk: clients see it.
  process.once('SIGTERM', () => {
    server.drain().finally(() => process.exit(0));
  });
};

start().catch((error: unknown) => {
  // Otherwise the platform keeps an environment that does not listen.
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  process.exit(1);
});
