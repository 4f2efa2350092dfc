// First: it installs `awslambda`, which the handler looks for when it is made.
import '../../lambdas/web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createCatalog, type Model } from '../../lambdas/catalog/catalog.ts';
import { createRouter } from '../../lambdas/create-router.ts';
import { createDynamoStores } from '../../lambdas/stores/dynamo/stores.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { createHttpUpstream } from '../../lambdas/upstreams/http-upstream.ts';
import { startServer } from '../../lambdas/web/server.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { fixedSecrets } from '../support/fixed-secrets.ts';
import { createLocalDynamoClient } from '../support/local-aws.ts';

/** What the parent says first; later `sample` asks for a reading. */
export type RouterOrder = { dynamo: string; models: Model[]; secret: string };
export type RouterReading = {
  rssMb: number;
  /** TCP connections, callers' and upstreams' and the table's. */
  sockets: number;
  /** CPU since the start, in seconds. */
  cpuSeconds: number;
  /** Longest delay of the event loop since the last reading, in milliseconds. */
  delayMs: number;
};
export type RouterMessage = { url: string } | { reading: RouterReading };

/** The table shares two cores with everything else here; AWS's second is no measure of it. */
const PATIENCE_MS = 30_000;

const tell = (message: RouterMessage) => process.send?.(message);

const serve = async ({ dynamo, models, secret }: RouterOrder) => {
  const client = createLocalDynamoClient(dynamo, PATIENCE_MS);
  const handler = createRouter({
    catalog: createCatalog(models),
    ...createDynamoStores({ client, tableNames: TABLE_NAMES }),
    upstream: createHttpUpstream({
      secrets: fixedSecrets(secret),
      clock: systemClock,
    }),
    // Lines are made and thrown away: writing them would measure the terminal.
    log: createLog(() => undefined),
    clock: systemClock,
    randomBytes,
  });
  const { url } = await startServer({ handler, port: 0, clock: systemClock, randomBytes });
  tell({ url });
};

const delays = monitorEventLoopDelay({ resolution: 10 });
delays.enable();

const read = (): RouterReading => {
  const { user, system } = process.cpuUsage();
  const delayMs = delays.max / 1e6;
  delays.reset();
  return {
    rssMb: process.memoryUsage.rss() / 2 ** 20,
    sockets: process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length,
    cpuSeconds: (user + system) / 1e6,
    delayMs,
  };
};

process.once('message', (order: RouterOrder) => {
  void serve(order);
  process.on('message', () => tell({ reading: read() }));
});
// A parent that died leaves nothing behind; an orderly end also writes a profile that was asked for.
process.once('disconnect', () => process.exit());
