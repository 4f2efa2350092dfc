import type { Bucket } from '../../aws/bucket.ts';
import { AwsError } from '../../aws/signed-client.ts';
import type { BodyStore } from '../answer-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';

/** Two attempts and the write of the entry fit into the time that the end of a response waits (replay/keeper.ts). */
export const BUCKET_TIMEOUTS = { connectMs: 500, requestMs: 1_200 };
const MAX_ATTEMPTS = 2;

/** No response, or S3's request to repeat: it throttles with a 503. */
const mayRetry = (error: unknown): boolean => !(error instanceof AwsError) || error.status >= 500;

/** All operations are safe to repeat: an object is written once, under the name of its attempt. */
const repeat = async <Output>(request: () => Promise<Output>): Promise<Output> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await request();
    } catch (cause) {
      if (attempt < MAX_ATTEMPTS && mayRetry(cause)) continue;
      throw new StoreUnavailable('The bucket is unavailable.', { cause, mayBeApplied: true });
    }
  }
};

/** `BodyStore` on a bucket, whose lifecycle deletes the bodies. */
export const createBucketBodies = (bucket: Bucket): BodyStore => ({
  put: (name, body) => repeat(() => bucket.put(name, body)),
  get: (name) => repeat(() => bucket.get(name)),
  remove: (name) => repeat(() => bucket.remove(name)),
});
