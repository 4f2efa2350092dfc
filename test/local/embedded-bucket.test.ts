import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createBucket } from '../../lambdas/aws/bucket.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { startEmbeddedBucket } from '../support/embedded-bucket.ts';
import { LOCAL_AWS } from '../support/local-aws.ts';

/** The temporary folder that has a file of this name. */
const folderWith = (part: string): string | undefined =>
  readdirSync(tmpdir(), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name.startsWith('model-router-'))
    .map(({ name }) => join(tmpdir(), name))
    .find((folder) => existsSync(folder) && readdirSync(folder).some((one) => one.includes(part)));

test('the embedded bucket keeps objects in a temporary folder, which it removes when it closes', async () => {
  const embedded = await startEmbeddedBucket();
  const bucket = createBucket({
    ...LOCAL_AWS,
    endpoint: embedded.endpoint,
    clock: systemClock,
    bucketName: 'answers',
    timeouts: { connectMs: 10_000, requestMs: 10_000 },
  });
  const id = randomBytes(8).toString('hex');
  const body = randomBytes(400_000);
  expect(await bucket.get(`${id}/req_1`)).toBeUndefined();
  await bucket.put(`${id}/req_1`, body);
  expect(Buffer.from((await bucket.get(`${id}/req_1`)) ?? []).equals(body)).toBe(true);
  const folder = folderWith(id) ?? '';
  expect(existsSync(folder)).toBe(true);
  bucket.destroy();
  await embedded.close();
  expect(existsSync(folder)).toBe(false);
});
