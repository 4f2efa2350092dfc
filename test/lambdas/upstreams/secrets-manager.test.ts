import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect, onTestFinished, test } from 'vitest';
import { createLog } from '../../../lambdas/support/log.ts';
import { createSecretsManagerSecrets } from '../../../lambdas/upstreams/secrets-manager.ts';
import { startEmbeddedSecrets } from '../../../local/embedded-secrets.ts';
import { createManualClock } from '../../support/manual-clock.ts';

const MINUTE = 60_000;

const setUp = async (value: string) => {
  const embedded = await startEmbeddedSecrets({ upstreams: value });
  const client = new SecretsManagerClient({
    endpoint: embedded.endpoint,
    region: 'local',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 1,
  });
  let reads = 0;
  client.middlewareStack.add((next, context) => async (args) => {
    if (context.commandName === 'GetSecretValueCommand') reads += 1;
    return next(args);
  });
  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    client.destroy();
    await embedded.close();
  };
  onTestFinished(close);
  const clock = createManualClock(0);
  const written: string[] = [];
  const log = createLog((line) => written.push(line));
  const secrets = createSecretsManagerSecrets({ client, secretId: 'upstreams', clock, log });
  const put = (SecretString: string) =>
    client.send(new PutSecretValueCommand({ SecretId: 'upstreams', SecretString }));
  return { secrets, clock, put, close, reads: () => reads, logText: () => written.join('') };
};

test('many requests at once read the secret once, and it is kept for 15 minutes', async () => {
  const { secrets, clock, put, reads } = await setUp('{"a":"one","b":"two"}');
  const got = await Promise.all(['a', 'b', 'a'].map(secrets.get));
  expect(got).toEqual(['one', 'two', 'one']);
  await put('{"a":"new"}');
  clock.advance(15 * MINUTE - 1);
  expect(await secrets.get('a')).toBe('one');
  expect(reads()).toBe(1);
  clock.advance(1);
  expect(await secrets.get('a')).toBe('new');
});

test('a refused credential is read again, but at most every 30 seconds', async () => {
  const { secrets, clock, put, reads } = await setUp('{"a":"one"}');
  await secrets.get('a');
  await put('{"a":"rotated"}');
  secrets.refresh();
  expect(await secrets.get('a')).toBe('one');
  clock.advance(30_000);
  expect(await secrets.get('a')).toBe('rotated');
  expect(reads()).toBe(2);
});

test('an outage leaves the last known credentials in use', async () => {
  const { secrets, clock, close } = await setUp('{"a":"one"}');
  await secrets.get('a');
  await close();
  clock.advance(60 * MINUTE);
  expect(await secrets.get('a')).toBe('one');
});

test('a broken rotation leaves the last known credentials in use', async () => {
  const { secrets, clock, put } = await setUp('{"a":"one"}');
  await secrets.get('a');
  await put('{"a":');
  clock.advance(60 * MINUTE);
  expect(await secrets.get('a')).toBe('one');
});

test.each(['{"a":"canary"', '["canary"]', '{"a":{"canary":1}}', 'canary'])(
  'a secret that is no object of texts is refused without quoting it: %s',
  async (value) => {
    const { secrets } = await setUp(value);
    const error: unknown = await secrets.get('a').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('canary');
  },
);

test('a credential that was pasted with a line break is used without', async () => {
  const { secrets } = await setUp('{"a":"  one\\n"}');
  expect(await secrets.get('a')).toBe('one');
});

test('a name that the secret does not hold is an error, also one that every object has', async () => {
  const { secrets } = await setUp('{"a":"one"}');
  await expect(secrets.get('b')).rejects.toThrow("no field 'b'");
  await expect(secrets.get('constructor')).rejects.toThrow("no field 'constructor'");
});

test('a failed read is told even while the last known credentials serve on, without the secret', async () => {
  const { secrets, clock, put, logText } = await setUp('{"a":"one"}');
  await secrets.get('a');
  await put('{"a":"canary"');
  clock.advance(60 * MINUTE);
  await secrets.get('a');
  expect(logText()).toContain('upstream_secret_failed');
  expect(logText()).not.toContain('canary');
});
