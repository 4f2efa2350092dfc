import type { HeaderMap, WireTarget } from './protocol.ts';

const VALUES = {
  authorization: (secret: string) => `Bearer ${secret}`,
  'x-api-key': (secret: string) => secret,
  'api-key': (secret: string) => secret,
};

/** The credential in the header that the target names, else in its protocol's own, `usual`. */
export const credentialHeader = (
  { authHeader }: WireTarget,
  usual: keyof typeof VALUES,
  secret: string,
): HeaderMap => {
  const name = authHeader ?? usual;
  return { [name]: VALUES[name](secret) };
};
