import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '../../local/loopback.ts';
import { verifySignature } from './verify-signature.ts';

export const BUCKET_SECRET = 'wJalrXUtnFEMI/K7MDENG';

/** What befalls one request. */
export type BucketTrouble =
  | 'none'
  /** Accepts the request and sends no response. */
  | 'silence'
  /** Closes the connection, nothing was applied. */
  | 'reset'
  /** Applies the request and closes the connection. */
  | 'lost answer'
  /** Asks to repeat later, as S3 does while it grows. */
  | 'slow down'
  /** Refuses the request, as with a key of KMS that is disabled. */
  | 'denied';

export type BucketRequest = { method: string; host: string; path: string };

const MAX_SKEW_MS = 15 * 60_000;

const errorText = (code: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>canary</Message></Error>`;

/** ISO 8601 without separators. */
const instantOf = (text: string): number =>
  Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));

/** The error that S3 has for a request, by its documentation of signatures and common errors. */
const errorIn = (incoming: IncomingMessage, body: Buffer, now: number) => {
  const { headers } = incoming;
  const digest = headers['x-amz-content-sha256'];
  const signed = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '')?.[1]?.split(';') ?? [];
  const verdict = verifySignature(incoming, body, BUCKET_SECRET);
  const isLate = Math.abs(instantOf(String(headers['x-amz-date'])) - now) > MAX_SKEW_MS;
  if (!verdict) return { status: 403, code: 'AccessDenied' };
  if (isLate) return { status: 403, code: 'RequestTimeTooSkewed' };
  if (digest === undefined) return { status: 400, code: 'MissingSecurityHeader' };
  if (digest !== createHash('sha256').update(body).digest('hex')) {
    return { status: 400, code: 'XAmzContentSHA256Mismatch' };
  }
  const isSigned = verdict.isValid && verdict.service === 's3' && signed.includes('host');
  if (!isSigned || !signed.includes('x-amz-content-sha256')) {
    return { status: 403, code: 'SignatureDoesNotMatch' };
  }
  if (incoming.method === 'PUT' && headers['content-length'] === undefined) {
    return { status: 411, code: 'MissingContentLength' };
  }
  return undefined;
};

/** An S3 written from AWS's documentation, as strict as it with signatures and digests, and with faults. */
export const startStrictBucket = async ({ now = Date.now }: { now?: () => number } = {}) => {
  const objects = new Map<string, Buffer>();
  const requests: BucketRequest[] = [];
  let troubleOf: (request: BucketRequest) => BucketTrouble = () => 'none';

  const answer = (incoming: IncomingMessage, body: Buffer, response: ServerResponse) => {
    const date = new Date(now()).toUTCString();
    const fail = (status: number, code: string) =>
      response.writeHead(status, { date, 'content-type': 'application/xml' }).end(errorText(code));
    const error = errorIn(incoming, body, now());
    const name = incoming.url ?? '';
    if (error) return fail(error.status, error.code);
    if (incoming.method === 'PUT') {
      objects.set(name, body);
      return response.writeHead(200, { date, etag: '"etag"' }).end();
    }
    if (incoming.method === 'DELETE') {
      objects.delete(name);
      return response.writeHead(204, { date }).end();
    }
    const object = objects.get(name);
    if (!object) return fail(404, 'NoSuchKey');
    return response.writeHead(200, { date, 'content-length': object.byteLength }).end(object);
  };

  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(incoming);
    const { method = '', url = '', headers } = incoming;
    const request = { method, host: headers.host ?? '', path: url };
    requests.push(request);
    const trouble = troubleOf(request);
    if (trouble === 'silence') return;
    if (trouble === 'slow down') response.writeHead(503).end(errorText('SlowDown'));
    else if (trouble === 'denied') response.writeHead(403).end(errorText('AccessDenied'));
    else if (trouble === 'reset') incoming.socket.destroy();
    else if (trouble === 'lost answer') {
      objects.set(url, body);
      incoming.socket.destroy();
    } else answer(incoming, body, response);
  };
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => incoming.socket.destroy());
  });
  const { url, close } = await listen(server, () => true);
  return {
    url,
    objects,
    requests,
    decide: (next: typeof troubleOf) => {
      troubleOf = next;
    },
    close,
  };
};
