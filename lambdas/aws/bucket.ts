import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { Timeouts } from './exchange.ts';
import { AwsError, type AwsOptions, createSignedClient } from './signed-client.ts';

/** Objects of one S3 bucket. A name has only letters, digits, `_`, `-`, `.` and `/`. */
export type Bucket = {
  /** One attempt. @throws AwsError for an error of S3; any other error: outcome unknown */
  put(name: string, body: Uint8Array): Promise<void>;
  /** One attempt; undefined if there is no such object. @throws as `put` */
  get(name: string): Promise<Uint8Array | undefined>;
  /** One attempt, idempotent. @throws as `put` */
  remove(name: string): Promise<void>;
  /** Closes idle connections. */
  destroy(): void;
};

export type BucketOptions = AwsOptions & { bucketName: string; timeouts: Timeouts };

/** A bucket is part of the host's name, as AWS requires, but an IP address has no names below it. */
const baseOf = (endpoint: string, bucketName: string): URL => {
  const url = new URL(endpoint);
  if (isIP(url.hostname.replace(/^\[|\]$/g, ''))) url.pathname = `/${bucketName}/`;
  else url.host = `${bucketName}.${url.host}`;
  return url;
};

/** An error of S3 is XML, or empty; its texts are private. */
const CODE = /<Code>(\w{1,64})<\/Code>/;

const NO_BODY = new Uint8Array();

/** An object of a bucket, signed with the digest of its body: S3 rejects a body that was changed on its way. */
export const createBucket = ({ bucketName, timeouts, ...options }: BucketOptions): Bucket => {
  const base = baseOf(options.endpoint, bucketName);
  const client = createSignedClient(
    {
      service: 's3',
      timeouts,
      errorOf: ({ status, body }) =>
        new AwsError(CODE.exec(body.toString())?.[1] ?? 'UnknownError', { status, body: {} }),
    },
    { ...options, endpoint: base.origin },
  );
  const send = (method: 'GET' | 'PUT' | 'DELETE', name: string, body: Uint8Array = NO_BODY) =>
    client.send({
      method,
      url: new URL(name, base),
      headers: {
        'content-length': String(body.byteLength),
        'x-amz-content-sha256': createHash('sha256').update(body).digest('hex'),
      },
      body,
    });
  return {
    put: async (name, body) => {
      await send('PUT', name, body);
    },
    get: async (name) => {
      try {
        return (await send('GET', name)).body;
      } catch (error) {
        if (error instanceof AwsError && error.status === 404) return undefined;
        throw error;
      }
    },
    remove: async (name) => {
      await send('DELETE', name);
    },
    destroy: client.destroy,
  };
};
