/** Status and headers of a response. Names are in lower case; of a name that is repeated the first value counts. */
export type ResponseHead = { status: number; headers: Record<string, string> };

export type Head = ResponseHead & {
  /** Whether the connection may carry another request after the response. */
  isPersistent: boolean;
};

const HEAD_END = '\r\n\r\n';
const START = 'HTTP/1.';
/** As Node's own limit. */
export const MAX_HEAD_BYTES = 16_384;

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\r\n]*)?$/;
/** Lines of a token, a colon, and visible characters, spaces and tabs. A folded line starts with a space. */
const HEADER_LINES = /^(?:\r\n[!#$%&'*+.^`|~\w-]+:[\t -~\x80-\xff]*)*$/;

const isPadding = (character = ''): boolean => character === ' ' || character === '\t';

/** Without spaces and tabs around it: `trim` also removes a no-break space. */
const sliceTrimmed = (text: string, from: number, to: number): string => {
  let start = from;
  let end = to;
  while (start < end && isPadding(text[start])) start += 1;
  while (start < end && isPadding(text[end - 1])) end -= 1;
  return text.slice(start, end);
};
const LENGTH = /^\d{1,15}$/;
/** Applications that copy the headers of another server name it twice. */
const CHUNKED = /^chunked(?:[\t ]*,[\t ]*chunked)*$/i;

/** Its code tells it from the errors of sockets. */
export const notHttp = (what: string): Error =>
  Object.assign(new Error(`The response is not HTTP: ${what}.`), { code: 'NOT_HTTP' });

/** Every value of these counts: a second length, or `close` in a second line. */
export const FRAMING = new Set(['content-length', 'transfer-encoding', 'connection']);
const JOINED = new Set([...FRAMING, 'content-encoding']);

/** Reads lines, each with CR LF before it. @throws Error for bytes that are not HTTP/1.1 */
export const readHeaders = (lines: string): Record<string, string> => {
  if (!HEADER_LINES.test(lines)) throw notHttp('invalid header');
  // Without a prototype, no name is inherited.
  const headers: Record<string, string> = Object.create(null);
  for (let start = 2; start < lines.length; ) {
    const next = lines.indexOf('\r\n', start);
    const end = next === -1 ? lines.length : next;
    const colon = lines.indexOf(':', start);
    const name = lines.slice(start, colon).toLowerCase();
    const value = sliceTrimmed(lines, colon + 1, end);
    if (headers[name] === undefined) headers[name] = value;
    else if (JOINED.has(name)) headers[name] += `, ${value}`;
    start = end + 2;
  }
  return headers;
};

/** What could be read in two ways is an error. */
const checkFraming = (headers: Record<string, string>): void => {
  const { 'transfer-encoding': encoding, 'content-length': length } = headers;
  if (encoding !== undefined && (length !== undefined || !CHUNKED.test(encoding))) {
    throw notHttp('invalid transfer-encoding');
  }
  if (length !== undefined && !LENGTH.test(length)) throw notHttp('invalid content-length');
};

const readHead = (text: string): Head => {
  const firstEnd = text.indexOf('\r\n');
  const first = firstEnd === -1 ? text : text.slice(0, firstEnd);
  const [, minor, status] = STATUS_LINE.exec(first) ?? [];
  if (status === undefined) throw notHttp('invalid status line');
  const headers = readHeaders(text.slice(first.length));
  checkFraming(headers);
  const { connection = '', 'transfer-encoding': encoding = '' } = headers;
  // Readers may differ about the end; a word that contains `close` only closes too much.
  const isUnclear = encoding.includes(',') || (encoding !== '' && /^[23]04$/.test(status));
  const mayClose = /close/i.test(connection) || isUnclear;
  const isPersistent = minor === '1' && !mayClose;
  return { status: Number(status), headers, isPersistent };
};

/**
 * Rejects bytes that cannot become a head: a server of another protocol sends no more, and the call would wait for its
 * timeout.
 */
const checkStart = (bytes: Buffer): void => {
  if (bytes.length > MAX_HEAD_BYTES) throw notHttp('head over 16 KB');
  const text = bytes.toString('latin1');
  const isStart = text.startsWith(START) || START.startsWith(text);
  if (!isStart || /(?<!\r)\n/.test(text)) throw notHttp('invalid status line');
};

/** Takes the head at the start of the bytes; undefined before its end. @throws Error for bytes that are not HTTP/1.1 */
export const takeHead = (bytes: Buffer): { head: Head; rest: Buffer } | undefined => {
  const end = bytes.indexOf(HEAD_END);
  if (end === -1) {
    checkStart(bytes);
    return undefined;
  }
  if (end > MAX_HEAD_BYTES) throw notHttp('head over 16 KB');
  return {
    head: readHead(bytes.toString('latin1', 0, end)),
    rest: bytes.subarray(end + HEAD_END.length),
  };
};
