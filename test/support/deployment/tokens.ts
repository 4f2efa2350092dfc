import {
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  randomUUID,
  sign,
  verify,
} from 'node:crypto';
import * as z from 'zod';

export type Claims = Record<string, unknown>;

const base64Url = (value: object): string =>
  Buffer.from(JSON.stringify(value)).toString('base64url');

/** Keys of a pool: signs tokens (JWS, RFC 7515) and publishes the public key (JWK, RFC 7517). */
export const createSigner = () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const kid = randomUUID();
  return {
    keys: [{ ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' }],
    signToken: (claims: Claims): string => {
      const signed = `${base64Url({ kid, alg: 'RS256' })}.${base64Url(claims)}`;
      return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
    },
  };
};

const Header = z.object({ kid: z.string(), alg: z.literal('RS256') });
const Verified = z.looseObject({ iss: z.string(), exp: z.number(), token_use: z.string() });

const parsed = (part = ''): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());

type Rules = {
  keys: (JsonWebKey & { kid: string })[];
  issuer: string;
  /** For `aud`. @default any client of the pool */
  audience: RegExp | undefined;
  now: number;
};

/**
 * The claims of an ID token, by the rules that API Gateway documents for user pools: signature, issuer, expiry,
 * use and audience. Undefined for any other text.
 */
export const verifyIdToken = (token: string, rules: Rules): Claims | undefined => {
  const { keys, issuer, audience = /^/, now } = rules;
  const [header, payload, signature = '', ...rest] = token.replace(/^Bearer /, '').split('.');
  try {
    const { kid } = Header.parse(parsed(header));
    const key = keys.find((one) => one.kid === kid);
    if (!key || rest.length > 0) return undefined;
    const isSigned = verify(
      'sha256',
      Buffer.from(`${header}.${payload}`),
      createPublicKey({ key, format: 'jwk' }),
      Buffer.from(signature, 'base64url'),
    );
    const claims = Verified.parse(parsed(payload));
    const isAccepted =
      claims.iss === issuer &&
      claims.exp * 1000 > now &&
      claims.token_use === 'id' &&
      audience.test(String(claims.aud));
    return isSigned && isAccepted ? claims : undefined;
  } catch {
    return undefined;
  }
};
