import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { AdminEnv } from '../../lambdas/env.ts';
import { sharedBundle } from '../support/shared-bundle.ts';

const { file } = sharedBundle({ entry: 'lambdas/admin.ts' });

const env = {
  STAGE: 'test',
  KEYS_TABLE: 'keys',
  PLANS_TABLE: 'plans',
  PROJECTS_TABLE: 'projects',
  METERS_TABLE: 'meters',
  RECORDS_TABLE: 'records',
  HISTORY_TABLE: 'history',
  UPSTREAM_SECRET: 'upstreams',
} satisfies AdminEnv;

/** A REST API event of a method that lacks IAM authorization. */
const UNSIGNED = {
  httpMethod: 'GET',
  path: '/admin/projects',
  resource: '/admin/{proxy+}',
  pathParameters: { proxy: 'projects' },
  multiValueHeaders: {},
  body: null,
  isBase64Encoded: false,
  requestContext: { identity: { userArn: null } },
};

/** Result of the bundle for one event, in a fresh process without node_modules. */
const send = (event: object): unknown => {
  const script =
    'require(process.argv[1]).handler(JSON.parse(process.argv[2]), {})' +
    '.then((answer) => console.log(JSON.stringify(answer)))';
  const run = spawnSync(process.execPath, ['-e', script, file, JSON.stringify(event)], {
    encoding: 'utf8',
    env: { ...env, AWS_REGION: 'eu-central-1' },
  });
  expect(run.stderr).toBe('');
  return JSON.parse(run.stdout.trim().split('\n').at(-1) ?? '');
};

describe('the bundle of the admin function', () => {
  test('the admin bundle is at most 450 KB', () => {
    expect(statSync(file).size / 1024).toBeLessThan(450);
  });

  test('the admin bundle loads without node_modules and rejects a request without IAM identity', () => {
    expect(send(UNSIGNED)).toMatchObject({
      statusCode: 403,
      headers: { 'x-request-id': expect.stringMatching(/^req_/) },
      body: expect.stringContaining('AWS credentials'),
    });
  });
});
