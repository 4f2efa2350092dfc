import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAwsStandIn } from '../support/aws-stand-in.ts';
import { useRouter } from '../support/local.ts';
import { runBuilt } from '../support/run-cli.ts';

const router = useRouter();
const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';

let aws: Awaited<ReturnType<typeof startAwsStandIn>>;
beforeAll(async () => {
  aws = await startAwsStandIn({
    stack: 'model-router-prod',
    secretAccessKey: SECRET,
    behind: router().baseUrl,
  });
});
afterAll(() => aws.close());

const admin = (args: string[], secret = SECRET) =>
  runBuilt('cli/main.ts', args, {
    AWS_ENDPOINT_URL_CLOUDFORMATION: aws.endpoint,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: secret,
    AWS_CONFIG_FILE: '/nowhere',
    AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
  });

const STACK = ['--stack', 'model-router-prod'];

test('--stack finds the REST API by the name of its stack and signs every request', async () => {
  const created = await admin(['projects', 'create', 'signed', '--name', 'Größe & Co', ...STACK]);
  expect(created).toMatchObject({ code: 0, err: '' });
  const listed = await admin(['projects', ...STACK]);
  expect(listed.out).toContain('Größe & Co');
  expect(aws.verdicts).toEqual(
    Array(2).fill({
      accessKeyId: 'AKIDEXAMPLE',
      region: 'eu-central-1',
      service: 'execute-api',
      isValid: true,
    }),
  );
});

test('the signature covers the percent-encoded path of the request', async () => {
  const { code, err } = await admin(['keys', '--project', 'a b/ü', ...STACK]);
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringContaining("Project 'a b/ü' not found"),
  });
});

test('an invalid signature prints the 403 message of API Gateway and exits with 1', async () => {
  const { code, err } = await admin(['projects', ...STACK], 'another');
  expect({ code, err }).toEqual({
    code: 1,
    err: 'The signature does not match. (status 403)\n',
  });
});

test('an unknown stack is reported by name with exit code 1', async () => {
  const { code, err } = await admin(['projects', '--stack', 'nope']);
  expect({ code, err }).toEqual({
    code: 1,
    err: 'Cannot look up stack nope: Stack with id nope does not exist\n',
  });
});
