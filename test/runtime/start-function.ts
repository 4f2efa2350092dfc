import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RouterEnv } from '../../lambdas/env.ts';
import type { BundleOptions } from '../../lib/bundle/bundle.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import type { DynamoRouter } from '../support/dynamo-stores.ts';
import { watchAnswer, watchLine } from '../support/leak-watch.ts';
import { scriptsAround } from '../support/shared-bundle.ts';
import { type Invocation, type RuntimeApi, startRuntimeApi } from './runtime-api.ts';

const SHIM = fileURLToPath(new URL('native-client.cjs', import.meta.url));

/** The shipped bundle, around a catalog whose targets are the embedded upstreams. */
export const bundleFor = (
  { models }: Pick<DynamoRouter, 'models'>,
  options: Pick<BundleOptions, 'entry' | 'fileName' | 'credentials'> = {
    entry: 'lambdas/router.ts',
  },
) => {
  const folder = mkdtempSync(join(tmpdir(), 'function-'));
  for (const [name, script] of Object.entries(scriptsAround(models, options))) {
    writeFileSync(join(folder, name), script);
  }
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
};

const watched = (invocation: Invocation): Invocation => {
  for (const said of [invocation.head.then(JSON.stringify), invocation.text]) {
    // What breaks off is the test's own business.
    said.then(watchAnswer, () => undefined);
  }
  return invocation;
};

/** The runtime client prints lines of its own. */
const isOurs = (line: string): boolean => /"event":|"_aws":/.test(line);

export type RunningFunction = Pick<RuntimeApi, 'invoke' | 'errors'> & {
  child: ChildProcess;
  /** What the process has printed so far, a line each. */
  lines(): string[];
  stop(): Promise<void>;
};

type Options = {
  client: string;
  folder: string;
  endpoints: DynamoRouter['endpoints'];
  env?: Record<string, string>;
};

/** What both kinds of function find in their environment, at the stand-ins. */
export const environmentFor = (endpoints: DynamoRouter['endpoints']): Record<string, string> => {
  const own = {
    STAGE: 'test',
    MAX_SERIES: '64',
    CORS_ORIGINS: '',
    KEYS_TABLE: TABLE_NAMES.keys,
    PLANS_TABLE: TABLE_NAMES.plans,
    METERS_TABLE: TABLE_NAMES.meters,
    RECORDS_TABLE: TABLE_NAMES.records,
    HISTORY_TABLE: TABLE_NAMES.history,
    RECORD_DAYS: '35',
    TRACEPARENT: 'keep',
    UPSTREAM_SECRET: 'local-upstreams',
  } satisfies RouterEnv;
  return {
    ...own,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamo,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoints.secrets,
  };
};

/** A process as Lambda starts it: AWS's runtime client, the bundle, the environment, nothing else. */
export const startFunction = async (options: Options): Promise<RunningFunction> => {
  const { client, folder, endpoints } = options;
  const api = await startRuntimeApi();
  const child = spawn(process.execPath, ['--require', SHIM, client], {
    cwd: folder,
    env: {
      ...environmentFor(endpoints),
      _HANDLER: 'index.handler',
      LAMBDA_TASK_ROOT: folder,
      AWS_LAMBDA_RUNTIME_API: api.address,
      AWS_LAMBDA_FUNCTION_NAME: 'router',
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '512',
      AWS_LAMBDA_LOG_GROUP_NAME: 'router',
      AWS_LAMBDA_LOG_STREAM_NAME: 'stream',
      AWS_LAMBDA_LOG_FORMAT: 'JSON',
      ...options.env,
    },
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  const lines = () => printed.split('\n').filter((line) => line !== '');
  return {
    invoke: (...parameters) => watched(api.invoke(...parameters)),
    errors: api.errors,
    child,
    lines,
    stop: async () => {
      if (child.exitCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      await api.close();
      for (const line of lines().filter(isOurs)) watchLine(line);
    },
  };
};
