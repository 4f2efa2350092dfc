import { type AwsIdentity, createSigner, skewIn } from '../aws/sign.ts';
import { readBedrockAddress } from '../bedrock.ts';
import type { HeaderMap, UnsignedRequest } from '../protocols/protocol.ts';

/** Signs calls of Amazon Bedrock with the credentials of this environment's role. */
export type RoleSigner = {
  /** Returns the signed headers. @throws Error if there are no credentials, or the URL is not Bedrock's */
  sign(request: Omit<UnsignedRequest, 'secret'>): Promise<HeaderMap>;
  /** Call when a request that was signed at `now` is rejected, with the `Date` of the response. */
  rejected(date: string | undefined, now: number): void;
  /** AWS's time minus ours, as far as rejections have shown it. */
  skewMs(): number;
};

export const createRoleSigner = (credentials: AwsIdentity['credentials']): RoleSigner => {
  // As many entries as the catalog has endpoints.
  const signers = new Map<string, ReturnType<typeof createSigner>>();
  let skewMs = 0;

  const signerOf = (url: URL) => {
    const endpoint = readBedrockAddress(url.href);
    if (!endpoint) throw new Error('Only addresses of Amazon Bedrock are called by the role.');
    const { service, region } = endpoint;
    const scope = `${region}/${service}`;
    const signer = signers.get(scope) ?? createSigner(service, { region, credentials });
    signers.set(scope, signer);
    return signer;
  };

  return {
    sign: ({ url, body, now }) =>
      signerOf(url)({ method: 'POST', url, headers: {}, body }, now + skewMs),
    rejected: (date, now) => {
      skewMs += skewIn(date, now + skewMs);
    },
    skewMs: () => skewMs,
  };
};
