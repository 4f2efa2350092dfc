// First: it installs `awslambda`, which the handler looks for when it is made.
import '../../lambdas/web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import { createCatalog } from '../../lambdas/catalog/catalog.ts';
import { createRouter } from '../../lambdas/create-router.ts';
import { createDynamoStores } from '../../lambdas/stores/dynamo/stores.ts';
import { type Clock, systemClock } from '../../lambdas/support/clock.ts';
import { createLog, type Log } from '../../lambdas/support/log.ts';
import { startServer } from '../../lambdas/web/server.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { startOnDynamo } from '../support/dynamo-stores.ts';
import { watchAnswers, watchLine } from '../support/leak-watch.ts';
import { startWatched } from '../support/local.ts';
import { createLocalDynamoClient } from '../support/local-aws.ts';
import { createLocalUpstream } from '../support/local-upstream.ts';
import { type LogLine, parseLine } from '../support/log-line.ts';
import { startDynamoProxy } from './dynamo-proxy.ts';
import { testModels } from './test-models.ts';

type TroubledOptions = { patience?: number; log?: Log; now?: () => number; slowness?: number };

/**
 * A router whose connection to its table can fail, and a healthy one on the same table. `patience` is the milliseconds
 * of one call of the table; AWS's second unless given. `lines` stay empty where a log is given. `now` is the router's
 * time, the system's unless given. `slowness` is how many times as long each of its timers lasts, where a test holds
 * calls for longer than it waits for them.
 */
export const startTroubledRouter = async ({
  patience,
  now = systemClock.now,
  slowness = 1,
  ...given
}: TroubledOptions = {}) => {
  const healthy = await startOnDynamo({ catalog: testModels() }, startWatched);
  const proxy = await startDynamoProxy(healthy.endpoints.dynamo);
  const client = createLocalDynamoClient(proxy.url, patience);
  const lines: LogLine[] = [];
  let ahead = 0;
  const clock: Clock = {
    now: () => now() + ahead,
    after: (ms, action) => systemClock.after(ms * slowness, action),
  };
  const ownLog = createLog((line) => {
    watchLine(line);
    lines.push(parseLine(line));
  });
  const { log = ownLog } = given;
  const handler = createRouter({
    catalog: createCatalog(healthy.models),
    ...createDynamoStores({ client, tableNames: TABLE_NAMES }),
    upstream: createLocalUpstream({ endpoint: healthy.endpoints.secrets, clock, log }),
    log,
    clock,
    randomBytes,
  });
  const server = await startServer({ handler, port: 0, clock: systemClock, randomBytes });
  watchAnswers(server.url, []);
  return {
    url: server.url,
    adminUrl: `${healthy.baseUrl}/admin`,
    /** The table itself, without the troubles. */
    tableUrl: healthy.endpoints.dynamo,
    createKey: healthy.createKey,
    upstreams: healthy.upstreams,
    proxy,
    lines,
    /** Moves the router's clock forward. */
    advance: (ms: number) => {
      ahead += ms;
    },
    close: async () => {
      proxy.decide(() => 'none');
      await server.close();
      client.destroy();
      await proxy.close();
      await healthy.close();
    },
  };
};

export type TroubledRouter = Awaited<ReturnType<typeof startTroubledRouter>>;
