// First: it installs `awslambda`, which the handler looks for when it is made.
import '../../lambdas/web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import { flushCompileCache } from 'node:module';
import { createCatalog, type Model } from '../../lambdas/catalog/catalog.ts';
import { createRouter } from '../../lambdas/create-router.ts';
import { createDynamoStores, openDynamoResponses } from '../../lambdas/stores/dynamo/stores.ts';
import { type Clock, systemClock } from '../../lambdas/support/clock.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { startServer } from '../../lambdas/web/server.ts';
import { TABLE_NAMES } from '../../local/local-stores.ts';
import { createLocalDynamoClient } from '../support/local-aws.ts';
import { createLocalUpstream } from '../support/local-upstream.ts';

/** First message of the parent. */
export type ServerOrder = {
  dynamo: string;
  secrets: string;
  models: Model[];
  /** The clock returns this instant (ms) until the parent sends another. */
  now: number;
  /** How far this process's clock is off, in ms. */
  skew: number;
  /** Its timers take so many times as long, for a parent whose clock is as slow. @default 1 */
  slowness?: number;
  /** Milliseconds for one call of the table; AWS's second unless given. */
  patience?: number;
};
export type ServerMessage = { url: string } | { line: string };

const tell = (message: ServerMessage) => process.send?.(message);

/** One environment of the router, as a separate process. */
const serve = async ({ dynamo, secrets, models, skew, patience, ...order }: ServerOrder) => {
  const { slowness = 1 } = order;
  let { now } = order;
  process.on('message', (message: { now: number }) => {
    now = message.now;
  });
  const clock: Clock = {
    now: () => now + skew,
    after: (ms, action) => systemClock.after(ms * slowness, action),
  };
  const client = createLocalDynamoClient(dynamo, patience);
  const log = createLog((line) => tell({ line }));
  const handler = createRouter({
    catalog: createCatalog(models),
    ...createDynamoStores({ client, tableNames: TABLE_NAMES }),
    openResponses: openDynamoResponses({ client, tableNames: TABLE_NAMES }),
    upstream: createLocalUpstream({ endpoint: secrets, clock, log }),
    log,
    clock,
    randomBytes,
  });
  const started = await startServer({ handler, port: 0, clock: systemClock, randomBytes });
  // Node writes what it has compiled at the end of a process, and most of these are killed.
  flushCompileCache();
  tell(started);
};

process.once('message', (order: ServerOrder) => void serve(order));
// A parent that died leaves nothing behind.
process.once('disconnect', () => process.exit());
