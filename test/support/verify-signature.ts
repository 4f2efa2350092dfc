import { createHash, createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const sha256 = (data: string | Uint8Array): string =>
  createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string): Buffer =>
  createHmac('sha256', key).update(data).digest();

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;

export type SignedRequest = {
  method?: string | undefined;
  url?: string | undefined;
  headers: IncomingHttpHeaders;
};

export type Verdict = { accessKeyId: string; region: string; service: string; isValid: boolean };

/** Checks a signature (SigV4) by the algorithm's public description, apart from what made it. */
export const verifySignature = (
  request: SignedRequest,
  body: string | Uint8Array,
  secretAccessKey: string,
): Verdict | undefined => {
  const match = AUTHORIZATION.exec(request.headers.authorization ?? '');
  if (!match) return undefined;
  const [, accessKeyId = '', date = '', region = '', service = '', signed = '', signature = ''] =
    match;
  const [path = '', query = ''] = (request.url ?? '').split('?');
  const names = signed.split(';');
  const canonical = [
    request.method,
    path.split('/').map(encodeURIComponent).join('/'),
    query,
    ...names.map((name) => `${name}:${String(request.headers[name] ?? '').trim()}`),
    '',
    signed,
    sha256(body),
  ].join('\n');
  const time = String(request.headers['x-amz-date'] ?? '');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = [date, region, service, 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${secretAccessKey}`,
  );
  const isValid =
    hmac(key, toSign).toString('hex') === signature &&
    ['host', 'x-amz-date'].every((name) => names.includes(name)) &&
    time.startsWith(date);
  return { accessKeyId, region, service, isValid };
};
