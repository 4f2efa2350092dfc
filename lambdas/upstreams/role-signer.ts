import { type AwsIdentity, createSigner, skewIn } from '../aws/sign.ts';
import { readBedrockAddress } from '../bedrock.ts';
import type { HeaderMap } from '../protocols/protocol.ts';
import type { Bytes } from '../support/bytes.ts';
import { oncePer } from '../support/memo.ts';

/** What a signature covers; `now` in ms since the epoch. */
export type UnsignedRequest = { url: URL; body: Bytes; now: number };

export type RoleSigner = ReturnType<typeof createRoleSigner>;

/** Signs calls of Amazon Bedrock with the credentials of this environment's role. */
export const createRoleSigner = (credentials: AwsIdentity['credentials']) => {
  // As many entries as the catalog has endpoints.
  const signerFor = oncePer(new Map<string, ReturnType<typeof createSigner>>(), (scope) => {
    const [region = '', service = ''] = scope.split('/');
    return createSigner(service, { region, credentials });
  });
  /** AWS's time minus ours, as far as rejections have shown it. */
  let skewMs = 0;

  const signerOf = (url: URL) => {
    const endpoint = readBedrockAddress(url.href);
    if (!endpoint) throw new Error('Only addresses of Amazon Bedrock are called by the role.');
    return signerFor(`${endpoint.region}/${endpoint.service}`);
  };

  return {
    /** Returns the signed headers. @throws Error if there are no credentials, or the URL is not Bedrock's */
    sign: ({ url, body, now }: UnsignedRequest): Promise<HeaderMap> =>
      signerOf(url)({ method: 'POST', url, headers: {}, body }, now + skewMs),
    /** Call when a request that was signed at `now` is rejected, with the `Date` of the response. */
    rejected: (date: string | undefined, now: number): void => {
      skewMs += skewIn(date, now + skewMs);
    },
    skewMs: (): number => skewMs,
  };
};
