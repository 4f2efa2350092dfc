import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { readBetween } from '#late/read-between';
import {
  asArray,
  asRecord,
  type Json,
  type JsonSource,
  withWrittenNumbers,
} from '../protocols/bytes/json.ts';
import {
  type Nodes,
  namesIn,
  OPEN_OBJECT,
  type Outline,
  outlineOf,
} from '../protocols/bytes/outline.ts';
import { childrenOf } from '../protocols/bytes/splice.ts';
import { encodePieces, type Raw, SHORT, textAt } from '../support/bytes.ts';
import { invalidRequest } from '../support/errors.ts';
import type { Bodies, Known } from './body-cache.ts';
import { cleaned, EXCEEDED, invalidBody, LIMITS } from './body-rules.ts';
import type { HttpRequest } from './read-event.ts';

/** Bytes of a list whose items are parsed one by one: a text of all gets new pages, which the system has to clear. */
const LARGE_LIST = 32_768;

/**
 * Parses the objects in the large lists of an object alone, and the rest with `{}` for each of them, which is JSON if and
 * only if the whole is. @throws SyntaxError
 */
const parseBytes = (raw: Buffer, nodes: Nodes): unknown => {
  const members = raw.length > LARGE_LIST ? childrenOf({ raw, nodes }, 0) : [];
  // Of a repeated name only the last value is read.
  const isPlain = new Set(members.map(({ key }) => key)).size === members.length;
  const placed: { name: string | number; index: number; value: unknown }[] = [];
  let [rest, from] = ['', 0];
  for (const { key: name, node, start: first, end: last } of isPlain ? members : []) {
    if (last - first < LARGE_LIST) continue;
    for (const { key: index, start, end } of childrenOf({ raw, nodes }, node)) {
      if (typeof index === 'string' || raw[start] !== OPEN_OBJECT) continue;
      placed.push({ name, index, value: JSON.parse(raw.toString('utf8', start, end)) });
      rest += `${raw.toString('utf8', from, start)}{}`;
      from = end;
    }
  }
  const value = JSON.parse(rest + raw.toString('utf8', from));
  for (const { name, index, value: item } of placed) asArray((value as Json)[name])[index] = item;
  return value;
};

/** What `parse` gives. @throws ApiError 400 */
const parsed = <Value>(parse: () => Value): Value => {
  try {
    return parse();
  } catch {
    // The engine's message quotes the input, which may be a prompt: it goes nowhere, not even as a cause.
    throw invalidBody('is not valid JSON.');
  }
};

const parse = (raw: Raw, nodes: Nodes, text = typeof raw === 'string' ? raw : undefined): unknown =>
  parsed(() => (text === undefined ? parseBytes(raw as Buffer, nodes) : JSON.parse(text)));

const within = (outline: Outline): Outline => {
  if (outline.exceeded !== undefined) throw invalidBody(EXCEEDED[outline.exceeded]);
  return outline;
};

/** A body of which nothing is known. */
const readWhole = (raw: Raw, read: Raw, text: string | undefined) => {
  const outline = outlineOf(read, LIMITS);
  const { places, nodes } = outline;
  if (nodes.length === 0 && textAt(raw, 0).trim() === '') {
    throw invalidBody('is empty; a JSON object is expected.');
  }
  within(outline);
  const value = asRecord(parse(raw, nodes, text));
  if (!value) throw invalidBody('must be a JSON object.');
  const removed = new Set<string>();
  const count = cleaned(value, { hasEscapes: raw.includes('\\u'), removed });
  withWrittenNumbers(raw, value, places);
  return { nodes, places, value, removed, isRead: count === namesIn(nodes) };
};

/** A smaller one is read as fast as another one is found to begin alike. */
const LARGE_BODY = 8_192;

/** `text`: that of bytes, if there is one already. */
type Options = { text?: string | undefined; bodies?: (() => Bodies) | undefined };

/**
 * Reads a body whose limits are checked before anything of it is copied. Of a name that an object repeats the last one counts:
 * the text then becomes what was read, so that no other reader sees another one.
 * @throws ApiError 400 unless `raw` is one JSON object of at most 64 levels, 10,000 members in each and 100,000 values
 */
export const parseJsonObject = (raw: Raw, bytes: number, options: Options = {}): JsonSource => {
  const { text } = options;
  // In ASCII a character's place is that of its byte.
  const read = text?.length === raw.length ? text : raw;
  const large = typeof raw === 'string' || raw.length < LARGE_BODY ? undefined : raw;
  const bodies = large && options.bodies?.();
  const match = large && bodies?.match(large);
  const keep = (known: Known): JsonSource => {
    if (large) bodies?.keep(large, known, match);
    return { raw, bytes, ...known };
  };
  const next = large && match?.overlap && readBetween(large, read, match.overlap);
  if (next) return keep(next);
  const { isRead, removed, ...known } = readWhole(raw, read, text);
  if (isRead) return keep(known);
  const { value } = known;
  const again = JSON.stringify(value);
  const { nodes } = outlineOf(again, LIMITS);
  return { raw: again, bytes, nodes, value, removed: [...removed] };
};

/**
 * Bytes of a decoded body. Decimal megabytes: the platform's limit is 6,291,456 bytes for the whole event,
 * in which the body is an escaped string (code grows by about 12 %) next to the headers.
 */
const MAX_BODY_BYTES = 5_500_000;

const inflate = promisify(zlib.gunzip);
/** Not before Node 22.15, which the installed command may run on. */
const HAS_ZSTD = 'zstdDecompress' in zlib;
/** No frame of that size needs a larger window than 8 MB, which is allocated before anything is read. */
const ZSTD = { params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } };

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

const decoded = async (body: Body, coding: 'gzip' | 'zstd'): Promise<Body> => {
  const limits = { maxOutputLength: MAX_BODY_BYTES };
  try {
    if (coding === 'gzip') return await inflate(body, limits);
    return await promisify(zlib.zstdDecompress)(body, { ...limits, ...ZSTD });
  } catch (error) {
    if (isOutputLimit(error)) throw tooLarge();
    throw invalidBody(`is not valid ${coding}.`, { cause: error });
  }
};

const otherCoding = () =>
  unsupported("The request's content-encoding must be gzip, zstd or identity.");

const decodeContent = (encoding: string | undefined, body: Body) => {
  switch (encoding?.trim().toLowerCase()) {
    case undefined:
    case '':
    case 'identity':
      return body;
    case 'gzip':
    case 'x-gzip':
      return decoded(body, 'gzip');
    case 'zstd':
      if (!HAS_ZSTD) throw otherCoding();
      return decoded(body, 'zstd');
    default:
      throw otherCoding();
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
export const readBody = async ({ method, headers, body }: HttpRequest, bodies?: () => Bodies) => {
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
