import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Raw } from '../support/bytes.ts';
import { encodePieces, SHORT } from '../support/bytes.ts';
import { invalidRequest } from '../support/errors.ts';
import type { Bodies } from './body-cache.ts';
import { invalidBody } from './body-rules.ts';
import { parseJsonObject } from './parse-body.ts';
import type { HttpRequest } from './read-event.ts';

/**
 * Bytes of a decoded body. Decimal megabytes: the platform's limit is 6,291,456 bytes for the whole event,
 * in which the body is an escaped string (code grows by about 12 %) next to the headers.
 */
const MAX_BODY_BYTES = 5_500_000;

const inflate = promisify(gunzip);

const tooLarge = () =>
  invalidBody('is larger than 5.5 MB (5,500,000 bytes).', {
    status: 413,
    rule: { name: 'body_bytes', limit: MAX_BODY_BYTES },
  });

const unsupported = (message: string) => invalidRequest(message, { status: 415 });

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/;
const CHARSET = /^charset="?([^"]*)"?$/;

/** @throws ApiError 415: the charset is part of the media type, so it is rejected with the same status. */
const checkContentType = (contentType: string | undefined) => {
  if (!contentType || contentType === 'application/json') return;
  const [type = '', ...parameters] = contentType
    .split(';')
    .map((part) => part.trim().toLowerCase());
  if (!JSON_TYPE.test(type)) {
    throw unsupported("The request's content-type must be application/json.");
  }
  const charset = parameters.map((parameter) => CHARSET.exec(parameter)?.[1]).find(Boolean);
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8') {
    throw unsupported("The request's charset must be utf-8.");
  }
};

const isOutputLimit = (error: unknown): boolean =>
  error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';

type Body = HttpRequest['body'];

const gunzipped = async (body: Body): Promise<Body> => {
  try {
    return await inflate(body, { maxOutputLength: MAX_BODY_BYTES });
  } catch (error) {
    if (isOutputLimit(error)) throw tooLarge();
    throw invalidBody('is not valid gzip.', { cause: error });
  }
};

const decodeContent = (encoding: string | undefined, body: Body) => {
  switch (encoding?.trim().toLowerCase()) {
    case undefined:
    case '':
    case 'identity':
      return body;
    case 'gzip':
    case 'x-gzip':
      return gunzipped(body);
    default:
      throw unsupported("The request's content-encoding must be gzip or identity.");
  }
};

const BYTE_ORDER_MARK = '\uFEFF';
const MARK_BYTES = Buffer.from(BYTE_ORDER_MARK);

/** The bytes that an encoder writes for half a surrogate pair, which UTF-8 has no form for. */
const REPLACEMENT = Buffer.from('\uFFFD');

/** A short text, or the bytes of a long one: it is encoded once, which also measures it, and sent on in pieces of that. */
const encoded = (text: string): string | Buffer => {
  if (text.length > MAX_BODY_BYTES) throw tooLarge();
  const sent = encodePieces([text]);
  return typeof sent === 'string' ? sent.toWellFormed() : sent;
};

/** Without a byte order mark. @throws ApiError 400 */
const rawOf = (body: Body): Raw => {
  if (typeof body === 'string') return body.startsWith(BYTE_ORDER_MARK) ? body.slice(1) : body;
  if (!isUtf8(body)) throw invalidBody('is not valid UTF-8.');
  const raw = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  // What is sent of it is then one text, in one write.
  if (raw.length < SHORT) return rawOf(raw.toString());
  const { length } = MARK_BYTES;
  return MARK_BYTES.equals(raw.subarray(0, length)) ? raw.subarray(length) : raw;
};

/**
 * Reads and parses the JSON body of a POST; undefined for other methods, whose
 * bodies are ignored. @throws ApiError 400, 413 or 415
 */
export const readBody = async ({ method, headers, body }: HttpRequest, bodies?: Bodies) => {
  if (method !== 'POST') return undefined;
  const sent = typeof body === 'string' ? encoded(body) : body;
  const sentBytes = Buffer.byteLength(sent);
  if (sentBytes > MAX_BODY_BYTES) throw tooLarge();
  checkContentType(headers['content-type']);
  const content = await decodeContent(headers['content-encoding'], sent);
  const bytes = content === sent ? sentBytes : content.length;
  const raw = rawOf(content);
  const isSame = typeof raw !== 'string' && raw.length === sentBytes && content === sent;
  const text = isSame && typeof body === 'string' && !raw.includes(REPLACEMENT) ? body : undefined;
  return parseJsonObject(raw, bytes, { text, bodies });
};
