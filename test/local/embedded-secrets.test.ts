import {
  CreateSecretCommand,
  DescribeSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedSecrets, startEmbeddedSecrets } from '../support/embedded-secrets.ts';
import { LOCAL_AWS } from '../support/local-aws.ts';

let standIn: EmbeddedSecrets;
let client: SecretsManagerClient;
beforeAll(async () => {
  standIn = await startEmbeddedSecrets({ first: 'one' });
  client = new SecretsManagerClient({ ...LOCAL_AWS, endpoint: standIn.endpoint });
});
afterAll(async () => {
  client.destroy();
  await standIn.close();
});

const read = async (SecretId: string) =>
  (await client.send(new GetSecretValueCommand({ SecretId }))).SecretString;

test('the AWS client reads a secret by its name and by its ARN', async () => {
  const { ARN = '' } = await client.send(new DescribeSecretCommand({ SecretId: 'first' }));
  expect(ARN).toMatch(/^arn:aws:secretsmanager:/);
  expect([await read('first'), await read(ARN)]).toEqual(['one', 'one']);
});

test('creating a secret again fails, and PutSecretValue changes its value', async () => {
  const create = new CreateSecretCommand({ Name: 'second', SecretString: 'a' });
  await client.send(create);
  await expect(client.send(create)).rejects.toThrow(
    expect.objectContaining({ name: 'ResourceExistsException' }),
  );
  await client.send(new PutSecretValueCommand({ SecretId: 'second', SecretString: 'b' }));
  expect(await read('second')).toBe('b');
});

test('reading an unknown secret fails with ResourceNotFoundException', async () => {
  await expect(read('nowhere')).rejects.toThrow(
    expect.objectContaining({ name: 'ResourceNotFoundException' }),
  );
});
