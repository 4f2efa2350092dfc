// First: it installs `awslambda`, which the handler looks for when it is made.
import '../../../lambdas/web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import { createCatalog } from '../../../lambdas/catalog/catalog.ts';
import { createRouter } from '../../../lambdas/create-router.ts';
import type { DynamoClient } from '../../../lambdas/stores/dynamo/dynamo-client.ts';
import { createDynamoStores } from '../../../lambdas/stores/dynamo/stores.ts';
import { createLog } from '../../../lambdas/support/log.ts';
import { startServer } from '../../../lambdas/web/server.ts';
import { TABLE_NAMES } from '../../support/dynamo.ts';
import { startOnDynamo } from '../../support/dynamo-stores.ts';
import { watchAnswers, watchLine } from '../../support/leak-watch.ts';
import { startWatched } from '../../support/local.ts';
import { createLocalDynamoClient } from '../../support/local-aws.ts';
import { createLocalUpstream } from '../../support/local-upstream.ts';
import type { ManualClock } from '../../support/manual-clock.ts';
import { askFor } from '../ask.ts';
import { testModels } from '../test-models.ts';

export type Answer = { status: number; body: Record<string, unknown> };

/** A client that cannot reach the keys table while `isDown`. */
const clientWithout = (client: DynamoClient, isDown: () => boolean): DynamoClient => ({
  ...client,
  call: (operation, input) =>
    isDown() && input.TableName === TABLE_NAMES.keys
      ? Promise.reject(new Error('timeout'))
      : client.call(operation, input),
});

const read = async (response: Response): Promise<Answer> => ({
  status: response.status,
  body: (await response.json()) as Answer['body'],
});

/** An admin API and two processes of the router on the same tables, each with a cache of its own. */
export const startKeysLab = async (clock: ManualClock) => {
  const home = await startOnDynamo({ catalog: testModels(), clock }, startWatched);
  const client = createLocalDynamoClient(home.endpoints.dynamo);
  const log = createLog(watchLine);
  let isDown = false;
  const startProcess = async () => {
    const handler = createRouter({
      catalog: createCatalog(home.models),
      ...createDynamoStores({
        client: clientWithout(client, () => isDown),
        tableNames: TABLE_NAMES,
      }),
      upstream: createLocalUpstream({ endpoint: home.endpoints.secrets, clock, log }),
      log,
      clock,
      randomBytes,
    });
    const server = await startServer({ handler, port: 0, clock, randomBytes });
    watchAnswers(server.url, []);
    return server;
  };
  const processes = await Promise.all([startProcess(), startProcess()]);
  const urlOf = (process: number) => processes[process]?.url ?? '';
  return {
    clock,
    setKeysDown: (next: boolean) => {
      isDown = next;
    },
    admin: async (method: 'GET' | 'POST', path: string, fields?: object) =>
      read(
        await fetch(`${home.baseUrl}/admin${path}`, {
          method,
          ...(fields && {
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(fields),
          }),
        }),
      ),
    generate: async (process: number, key: string) =>
      read(
        await askFor(urlOf(process), { path: '/v1/chat/completions', key, model: 'test/answers' }),
      ),
    usage: async (process: number, key: string) =>
      read(await fetch(`${urlOf(process)}/v1/usage`, { headers: { 'x-api-key': key } })),
    close: async () => {
      await Promise.all(processes.map((server) => server.close()));
      client.destroy();
      await home.close();
    },
  };
};

export type KeysLab = Awaited<ReturnType<typeof startKeysLab>>;
