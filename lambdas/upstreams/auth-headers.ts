import type { Target } from '../catalog/catalog.ts';
import type { Protocol } from '../protocols/protocol.ts';

const FORMS = {
  authorization: (secret: string) => `Bearer ${secret}`,
  'x-api-key': (secret: string) => secret,
  'api-key': (secret: string) => secret,
};

const isAuthHeader = (name: string): boolean => Object.hasOwn(FORMS, name);

/** The protocol's own headers, with the credential where the target wants it, and only there. */
export const authHeaders = (
  { authHeader }: Pick<Target, 'authHeader'>,
  protocol: Pick<Protocol, 'upstreamHeaders'>,
  secret: string,
): Record<string, string> => {
  const usual = protocol.upstreamHeaders(secret);
  if (authHeader === undefined) return usual;
  const others = Object.entries(usual).filter(([name]) => !isAuthHeader(name));
  return { ...Object.fromEntries(others), [authHeader]: FORMS[authHeader](secret) };
};
