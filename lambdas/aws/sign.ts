import { createHash, createHmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';

export type AwsCredentials = {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
};

export type AwsIdentity = {
  region: string;
  /** Called for each request: the provider caches, if it needs to, and rotated values are used at once. */
  credentials: () => Promise<AwsCredentials>;
};

export type Unsigned = { url: URL; headers: Record<string, string>; body: string };

type Secret = string | ArrayBuffer | ArrayBufferView;

/** Node's SHA-256, and its HMAC if there is a secret, behind the interface that AWS's signer calls. */
class Sha256 {
  readonly #create;
  #hash;

  constructor(secret?: Secret) {
    const key = secret instanceof ArrayBuffer ? new Uint8Array(secret) : secret;
    this.#create = () =>
      key === undefined ? createHash('sha256') : createHmac('sha256', key as string | Uint8Array);
    this.#hash = this.#create();
  }

  update(data: string | Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    this.#hash = this.#create();
  }
}

/** Returns a function that adds AWS's signature (version 4) to the headers of a POST. */
export const createSigner = (service: string, { region, credentials }: AwsIdentity) => {
  const signer = new SignatureV4({
    ...{ service, region, credentials, sha256: Sha256 },
    // A header with the body's digest, which only S3 and Glacier need.
    applyChecksum: false,
  });
  return async ({ url, headers, body }: Unsigned, now: number): Promise<Record<string, string>> => {
    const signed = await signer.sign(
      {
        method: 'POST',
        protocol: url.protocol,
        hostname: url.hostname,
        path: url.pathname,
        headers: { ...headers, host: url.host },
        body,
      },
      { signingDate: new Date(now) },
    );
    return signed.headers;
  };
};
