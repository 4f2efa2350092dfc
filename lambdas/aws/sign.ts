import { createHmac, hash } from 'node:crypto';
import { type Bytes, sha256Of } from '../support/bytes.ts';
import { perUnit } from '../support/clock.ts';

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

export type Unsigned = {
  method: string;
  url: URL;
  /** Names in lower case; `x-amz-content-sha256`, which S3 requires, is the digest of the body in hex. */
  headers: Record<string, string>;
  body: Bytes;
};

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** Bytes that SHA-256 takes at once. */
const BLOCK = 64;

/**
 * Signs ASCII texts by HMAC with SHA-256: the digest, behind a block of the key, of the digest of the text behind another. Two
 * one-shot digests take half of what `createHmac` does, which makes a context for each text.
 */
const createMac = (key: Buffer) => {
  const blockOf = (byte: number) =>
    Buffer.from(Buffer.alloc(BLOCK, byte).map((bits, at) => bits ^ (key[at] ?? 0))).toString(
      'latin1',
    );
  const [inner, outer] = [blockOf(0x36), blockOf(0x5c)];
  const digest = (text: string, encoding: 'binary' | 'hex') =>
    hash('sha256', Buffer.from(text, 'latin1'), encoding);
  return (text: string): string => digest(outer + digest(inner + text, 'binary'), 'hex');
};

type Mac = ReturnType<typeof createMac>;

/** Derives the key of a scope (day, region, service), and keeps the last one: it is valid for a day. */
const createSigningKeys = () => {
  let last: { secret: string; scope: string; mac: Mac } | undefined;
  return (secret: string, scope: string): Mac => {
    if (last?.secret === secret && last.scope === scope) return last.mac;
    const key = scope
      .split('/')
      .reduce(
        (parent, part) => createHmac('sha256', parent).update(part).digest(),
        Buffer.from(`AWS4${secret}`),
      );
    last = { secret, scope, mac: createMac(key) };
    return last.mac;
  };
};

/** `20261121T113000Z` */
const formatDate = perUnit(1_000, (instant) => instant.toISOString().replaceAll(/[-:]|\.\d+/g, ''));

/** The path is encoded once more than it is sent. No service has a query, or a header of several lines. */
const canonicalRequest = ({ method, url, headers, body }: Unsigned, names: string[]): string => {
  const path = url.pathname.split('/').map(encodeURIComponent).join('/');
  let lines = '';
  for (const name of names) lines += `${name}:${headers[name]}\n`;
  const digest = headers['x-amz-content-sha256'] ?? sha256Of(body);
  return `${method}\n${path}\n\n${lines}\n${names.join(';')}\n${digest}`;
};

/** A service rejects signatures that are 5 minutes off. */
const MAX_SKEW_MS = 4 * 60_000;

/**
 * AWS's time minus ours, from the `Date` of a response that rejects what was signed at `signedAt`; 0 if our
 * time is not why.
 */
export const skewIn = (date: string | undefined, signedAt: number): number => {
  const skew = Date.parse(date ?? '') - signedAt;
  return Math.abs(skew) > MAX_SKEW_MS ? skew : 0;
};

/** Returns a function that adds AWS's signature (version 4) to the headers of a request. */
export const createSigner = (service: string, { region, credentials }: AwsIdentity) => {
  const signingKey = createSigningKeys();
  return async (unsigned: Unsigned, now: number): Promise<Record<string, string>> => {
    const { accessKeyId, secretAccessKey, sessionToken } = await credentials();
    const date = formatDate(now);
    const headers: Record<string, string> = { ...unsigned.headers };
    headers.host = unsigned.url.host;
    headers['x-amz-date'] = date;
    if (sessionToken !== undefined) headers['x-amz-security-token'] = sessionToken;
    const names = Object.keys(headers).toSorted();
    const scope = `${date.slice(0, 8)}/${region}/${service}/aws4_request`;
    const request = sha256Of(canonicalRequest({ ...unsigned, headers }, names));
    const mac = signingKey(secretAccessKey, scope);
    const signature = mac(`${ALGORITHM}\n${date}\n${scope}\n${request}`);
    const credential = `${accessKeyId}/${scope}`;
    headers.authorization = `${ALGORITHM} Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
    return headers;
  };
};
