import { createHmac } from 'node:crypto';
import type { RandomBytes } from '../support/ids.ts';

const PREFIX = 'whsec_';
const SECRET = /^whsec_(?<key>[A-Za-z0-9+/]{32,100}={0,2})$/;
const KEY_BYTES = 32;

/** The key of a signature: 24 to 64 bytes. @throws Error */
export const readSigningSecret = (text: string): Buffer => {
  const key = Buffer.from(SECRET.exec(text)?.groups?.key ?? '', 'base64');
  if (key.length >= 24 && key.length <= 64) return key;
  throw new Error('The signing secret must be whsec_ and 24 to 64 bytes in base64.');
};

export const mintSigningSecret = (randomBytes: RandomBytes): string =>
  PREFIX + Buffer.from(randomBytes(KEY_BYTES)).toString('base64');

/** The id is the same in each try, so that a receiver leaves out what it has. */
export type Signed = { id: string; secrets: readonly string[] };

/** Headers by the rules of standard-webhooks: a signature of `id.timestamp.body` for each secret, with the time of this try. */
export const signatureOf = ({ id, secrets }: Signed, body: string, now: number) => {
  const timestamp = String(Math.floor(now / 1_000));
  const signatures = secrets.map((secret) => {
    const hmac = createHmac('sha256', readSigningSecret(secret));
    return `v1,${hmac.update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
};
