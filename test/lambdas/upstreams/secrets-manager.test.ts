import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../lambdas/support/clock.ts';
import { createLog } from '../../../lambdas/support/log.ts';
import { createReadSecret, type ReadSecret } from '../../../lambdas/upstreams/read-secret.ts';
import { createSecretsManagerSecrets } from '../../../lambdas/upstreams/secrets-manager.ts';
import { startEmbeddedSecrets } from '../../support/embedded-secrets.ts';
import { LOCAL_AWS } from '../../support/local-aws.ts';
import { createManualClock } from '../../support/manual-clock.ts';

const MINUTE = 60_000;

const setUp = async (value: string) => {
  const embedded = await startEmbeddedSecrets({ upstreams: value });
  const aws = { ...LOCAL_AWS, endpoint: embedded.endpoint };
  const client = new SecretsManagerClient(aws);
  const read = createReadSecret({ ...aws, clock: systemClock });
  let reads = 0;
  const readSecret: ReadSecret = (...args) =>
    read(...args).finally(() => {
      reads += 1;
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
  const secrets = createSecretsManagerSecrets({ readSecret, secretId: 'upstreams', clock, log });
  const put = (SecretString: string) =>
    client.send(new PutSecretValueCommand({ SecretId: 'upstreams', SecretString }));
  const { signal } = new AbortController();
  const get = async (name: string) => (await secrets.get(name, signal)).value;
  /** Lets a read behind the caller end. */
  const settled = (count: number) => expect.poll(() => reads).toBe(count);
  return {
    ...{ secrets, get, signal, clock, put, close, settled },
    reads: () => reads,
    logText: () => written.join(''),
  };
};

test('many requests at once read the secret once, and it is kept for 15 minutes', async () => {
  const { get, clock, put, reads, settled } = await setUp('{"a":"one","b":"two"}');
  const got = await Promise.all(['a', 'b', 'a'].map(get));
  expect(got).toEqual(['one', 'two', 'one']);
  await put('{"a":"new"}');
  clock.advance(15 * MINUTE - 1);
  expect(await get('a')).toBe('one');
  expect(reads()).toBe(1);
  clock.advance(1);
  expect(await get('a')).toBe('one');
  await settled(2);
  expect(await get('a')).toBe('new');
});

test('a refused credential is read again at once, but at most every 25 seconds', async () => {
  const { secrets, signal, get, clock, put, reads } = await setUp('{"a":"one"}');
  const { version } = await secrets.get('a', signal);
  await put('{"a":"rotated"}');
  expect(await secrets.refused('a', version, signal)).toBeUndefined();
  expect(reads()).toBe(1);
  clock.advance(25_000);
  expect(await secrets.refused('a', version, signal)).toMatchObject({ value: 'rotated' });
  expect(await get('a')).toBe('rotated');
  expect(reads()).toBe(2);
});

test('while a credential is refused its version is looked for every 25 seconds, until it is accepted', async () => {
  const { secrets, signal, get, clock, reads, settled } = await setUp('{"a":"one"}');
  const { version } = await secrets.get('a', signal);
  await secrets.refused('a', version, signal);
  for (const count of [2, 3]) {
    clock.advance(25_000);
    expect(secrets.version('a')).toBe(version);
    await settled(count);
  }
  secrets.accepted('a');
  clock.advance(14 * MINUTE);
  expect(await get('a')).toBe('one');
  expect(secrets.version('a')).toBe(version);
  expect(reads()).toBe(3);
});

test('a field that is added to the secret is found by the first request 25 seconds after the last read', async () => {
  const { get, clock, put, reads } = await setUp('{"a":"one"}');
  await expect(get('b')).rejects.toThrow("no field 'b'");
  await put('{"a":"one","b":"two"}');
  clock.advance(24_999);
  await expect(get('b')).rejects.toThrow("no field 'b'");
  expect(reads()).toBe(1);
  clock.advance(1);
  expect(await get('b')).toBe('two');
});

test('an outage leaves the last known credentials in use', async () => {
  const { get, clock, close } = await setUp('{"a":"one"}');
  await get('a');
  await close();
  clock.advance(60 * MINUTE);
  expect(await get('a')).toBe('one');
});

test('a broken rotation leaves the last known credentials in use', async () => {
  const { get, clock, put, settled } = await setUp('{"a":"one"}');
  await get('a');
  await put('{"a":');
  clock.advance(60 * MINUTE);
  expect(await get('a')).toBe('one');
  await settled(2);
  expect(await get('a')).toBe('one');
});

test.each(['{"a":"canary"', '["canary"]', '{"a":{"canary":1}}', 'canary'])(
  'a secret that is no object of texts is refused without quoting it: %s',
  async (value) => {
    const { get } = await setUp(value);
    const error: unknown = await get('a').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('canary');
  },
);

test('a credential that was pasted with a line break is used without', async () => {
  const { get } = await setUp('{"a":"  one\\n"}');
  expect(await get('a')).toBe('one');
});

test('a name that the secret does not hold is an error, also one that every object has', async () => {
  const { get } = await setUp('{"a":"one"}');
  await expect(get('b')).rejects.toThrow("no field 'b'");
  await expect(get('constructor')).rejects.toThrow("no field 'constructor'");
});

test('a read that the platform froze with its request logs no failure', async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  let now = 0;
  const written: string[] = [];
  const secrets = createSecretsManagerSecrets({
    readSecret: () => promise,
    secretId: 'upstreams',
    clock: { now: () => now, after: () => () => {} },
    log: createLog((line) => written.push(line)),
  });
  const reading = secrets.get('a', new AbortController().signal);
  now = MINUTE;
  reject(new Error('The connection was reset.'));
  await expect(reading).rejects.toThrow('reset');
  expect(written).toEqual([]);
});

test('a failed read is told even while the last known credentials serve on, without the secret', async () => {
  const { get, clock, put, logText } = await setUp('{"a":"one"}');
  await get('a');
  await put('{"a":"canary"');
  clock.advance(60 * MINUTE);
  await get('a');
  await expect.poll(logText).toContain('upstream_secret_failed');
  expect(logText()).not.toContain('canary');
});
