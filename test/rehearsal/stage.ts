import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod';
import type { RouterEnv } from '../../lambdas/env.ts';
import { localCredentials } from '../../local/local-catalog.ts';
import type { LocalRouter } from '../../local/start.ts';
import { type DynamoProxy, startDynamoProxy } from '../metering/dynamo-proxy.ts';
import { functionUrl } from '../runtime/events.ts';
import { bundleFor, environmentFor } from '../runtime/start-function.ts';
import type { DataPoint } from '../support/alarm-states.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { startOnDynamo } from '../support/dynamo-stores.ts';
import { MODEL_ON, post, startWatched } from '../support/local.ts';
import { LOCAL_AWS } from '../support/local-aws.ts';
import { UPSTREAM_SECRET } from '../support/local-upstream.ts';
import { pointsIn } from '../support/metrics.ts';
import { type Result, startBundle } from './start-bundle.ts';

const CHAT = '/v1/chat/completions';

export type Asked = {
  model?: string;
  stream?: boolean;
  key?: string;
  headers?: Record<string, string>;
  /** Until Lambda would end the invocation. */
  remainingMs?: number;
};

/** A key of a project that does not exist yet. */
const createOtherKey = async (local: LocalRouter): Promise<string> => {
  await post(local, '/admin/projects', { id: 'other' });
  const created = await post(local, '/admin/projects/other/keys', { plan: 'local' });
  return z.object({ key: z.string() }).parse(await created.json()).key;
};

/** The shipped bundles of the router and of the admin function on one set of tables that can fail. */
export const startStage = async () => {
  const local = await startOnDynamo({ plan: { period: 'day' } }, startWatched);
  const proxy: DynamoProxy = await startDynamoProxy(local.endpoints.dynamo);
  const endpoints = { ...local.endpoints, dynamo: proxy.url };
  const shipped = {
    router: bundleFor(local),
    admin: bundleFor(local, { entry: 'lambdas/admin.ts' }),
  };
  const env = {
    ...environmentFor(endpoints),
    STAGE: 'prod',
    MAX_SERIES: '80',
    PROJECTS_TABLE: TABLE_NAMES.projects,
    ANSWERS_TABLE: TABLE_NAMES.answers,
    REPLAY_HOURS: '24',
  } satisfies Partial<RouterEnv> & Record<string, string>;
  const router = startBundle(shipped.router.folder, env);
  const admin = startBundle(shipped.admin.folder, env);
  // By turns: most breakers open for all callers only once two projects have met the failure.
  const keys = [local.key, await createOtherKey(local)];
  let sent = 0;
  const ask = (now: number, asked: Asked = {}): Promise<Result> => {
    const { model = MODEL_ON.chat, stream = false, headers = {} } = asked;
    sent += 1;
    const { key = keys[sent % keys.length] ?? '' } = asked;
    const body = { model, stream, messages: [{ role: 'user', content: 'hello' }] };
    const event = functionUrl(CHAT, { key, body });
    const delivered = { ...event, headers: { ...event.headers, ...headers } };
    return router.invoke(now, delivered, asked.remainingMs);
  };
  const operator = new SecretsManagerClient({ ...LOCAL_AWS, endpoint: local.endpoints.secrets });
  const putSecret = async (value: Record<string, string>): Promise<void> => {
    const SecretString = JSON.stringify(value);
    await operator.send(new PutSecretValueCommand({ SecretId: UPSTREAM_SECRET, SecretString }));
  };
  return {
    upstreams: local.upstreams,
    proxy,
    ask,
    /** Stores a new version of the secret with the providers' credentials. */
    putSecret,
    restoreSecret: () => putSecret(localCredentials(local.models)),
    /** The schedule's event. */
    runHistory: (now: number) => admin.invoke(now, { job: 'history' }),
    takePoints: (): DataPoint[] => pointsIn([...router.takeLines(), ...admin.takeLines()]),
    close: async () => {
      await Promise.all([router.stop(), admin.stop()]);
      operator.destroy();
      await proxy.close();
      await local.close();
      for (const { remove } of Object.values(shipped)) remove();
    },
  };
};
export type RehearsalStage = Awaited<ReturnType<typeof startStage>>;
