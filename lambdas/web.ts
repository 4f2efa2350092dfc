// First: it installs `awslambda`, which the handler looks for when it is made.
import './web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import { readHttpEndpoint } from './env.ts';
import { handler } from './router.ts';
import { systemClock } from './support/clock.ts';
import { startServer } from './web/server.ts';

/** The router as a plain HTTP server: a Lambda Web Function, or any other place that runs Node. */
const start = async (): Promise<void> => {
  const server = await startServer({
    handler,
    ...readHttpEndpoint(process.env),
    clock: systemClock,
    randomBytes,
  });
  // A Web Function has a second from here. What is cut after it breaks off in mid-chunk, which clients notice.
  process.once('SIGTERM', () => {
    server.drain().finally(() => process.exit(0));
  });
};

start().catch((error: unknown) => {
  // The platform would keep an environment that listens to nobody.
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  process.exit(1);
});
