import {
  FRAMING,
  type Head,
  MAX_HEAD_BYTES,
  notHttp,
  type ResponseHead,
  readHeaders,
  takeHead,
} from './response-head.ts';

/**
 * Reads a body from `bytes[from]` on. Returns the index behind its end, or -1 if it continues.
 * @throws Error for bytes that are not HTTP/1.1
 */
type BodyReader = (bytes: Buffer, from: number) => number;

type OnData = (bytes: Buffer) => void;

/** As `content-length` states. */
const bodyOfLength = (length: number, onData: OnData): BodyReader => {
  let left = length;
  return (bytes, from) => {
    const data = bytes.subarray(from, from + left);
    if (data.length > 0) onData(data);
    left -= data.length;
    return left === 0 ? from + data.length : -1;
  };
};

/** Ended by the connection. */
const bodyToEnd =
  (onData: OnData): BodyReader =>
  (bytes, from) => {
    if (from < bytes.length) onData(bytes.subarray(from));
    return -1;
  };

const CR = 13;
const LF = 10;
const SEMICOLON = 59;

/** Value of a hex digit, or -1. */
const digitOf = (byte: number): number => {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
};

/** Bytes of a chunk's extensions, or of all trailers. They are checked, and discarded. */
const MAX_DISCARDED_BYTES = MAX_HEAD_BYTES;
const MAX_SIZE_DIGITS = 12;

/** Names, alone or with a token or a quoted text. */
const EXTENSIONS =
  /^(?:;[!#$%&'*+.^`|~\w-]+(?:=(?:[!#$%&'*+.^`|~\w-]+|"(?:[\t !#-[\]-~]|\\[\t -~])*"))?)+$/;

const checkTrailer = (line: string): void => {
  const [name = ''] = Object.keys(readHeaders(`\r\n${line}`));
  // Too late: the body has been read without it.
  if (FRAMING.has(name)) throw notHttp('framing in a trailer');
};

type LineState =
  | 'size'
  | 'extensions'
  | 'size LF'
  | 'data CR'
  | 'data LF'
  | 'trailer'
  | 'trailer LF';

/**
 * Chunks: a size in hex, extensions, CR LF, as many bytes, CR LF. After the size 0 come trailers and an empty line.
 * Byte by byte, because most chunks of a stream are short and may be cut anywhere: 0.1 to 0.2 us a chunk, by lines 0.3 to 0.5.
 */
const chunkedBody = (onData: OnData): BodyReader => {
  let state: LineState | 'data' | 'end' = 'size';
  let size = 0;
  /** Those after leading zeros. */
  let digits = 0;
  let hasSize = false;
  /** Extensions or a trailer, up to here. */
  let line = '';
  let discarded = 0;

  const discard = (byte: number) => {
    discarded += 1;
    if (discarded > MAX_DISCARDED_BYTES) throw notHttp('extensions or trailers over 16 KB');
    line += String.fromCharCode(byte);
  };
  const expect = (byte: number, expected: number) => {
    if (byte !== expected) throw notHttp('invalid chunk');
  };
  /** Each reads a byte and returns the next state. */
  const steps: Record<LineState, (byte: number) => typeof state> = {
    size: (byte) => {
      const digit = digitOf(byte);
      if (digit >= 0 && digits < MAX_SIZE_DIGITS) {
        size = size * 16 + digit;
        if (size > 0) digits += 1;
        hasSize = true;
        return 'size';
      }
      if (digit >= 0 || !hasSize) throw notHttp('invalid chunk size');
      if (byte === CR) return 'size LF';
      if (byte !== SEMICOLON) throw notHttp('invalid chunk size');
      discard(byte);
      return 'extensions';
    },
    extensions: (byte) => {
      if (byte !== CR) {
        discard(byte);
        return 'extensions';
      }
      if (!EXTENSIONS.test(line)) throw notHttp('invalid chunk extension');
      return 'size LF';
    },
    'size LF': (byte) => {
      expect(byte, LF);
      digits = 0;
      hasSize = false;
      discarded = 0;
      line = '';
      return size === 0 ? 'trailer' : 'data';
    },
    'data CR': (byte) => {
      expect(byte, CR);
      return 'data LF';
    },
    'data LF': (byte) => {
      expect(byte, LF);
      return 'size';
    },
    trailer: (byte) => {
      if (byte === CR) return 'trailer LF';
      discard(byte);
      return 'trailer';
    },
    'trailer LF': (byte) => {
      expect(byte, LF);
      // An empty line is the last.
      if (line === '') return 'end';
      checkTrailer(line);
      line = '';
      return 'trailer';
    },
  };

  return (bytes, from) => {
    let index = from;
    /** Data is moved over the framing before it, so that a packet's is one piece. */
    let end = from;
    try {
      while (index < bytes.length && state !== 'end') {
        if (state === 'data') {
          const length = Math.min(size, bytes.length - index);
          bytes.copyWithin(end, index, index + length);
          size -= length;
          index += length;
          end += length;
          if (size === 0) state = 'data CR';
        } else {
          state = steps[state](bytes[index] ?? 0);
          index += 1;
        }
      }
    } finally {
      // Also what stands before malformed bytes.
      if (end > from) onData(bytes.subarray(from, end));
    }
    return state === 'end' ? index : -1;
  };
};

/** Gets a response, piece by piece. */
export type ResponseHandler = {
  onHead(head: ResponseHead): void;
  /** Bytes of the body, without its framing. */
  onData(bytes: Buffer): void;
};

export type ResponseReader = ReturnType<typeof createResponseReader>;

/** By the rules of RFC 9112, section 6.3. */
const bodyReaderFor = ({ status, headers }: ResponseHead, { onData }: ResponseHandler) => {
  const { 'transfer-encoding': encoding, 'content-length': length } = headers;
  if (status === 204 || status === 304) return bodyOfLength(0, onData);
  if (encoding !== undefined) return chunkedBody(onData);
  return length === undefined ? bodyToEnd(onData) : bodyOfLength(Number(length), onData);
};

/** Whether the head only announces that of the response. @throws Error if nothing can follow it */
const isInterim = ({ status, isPersistent }: Head): boolean => {
  // The request has no `upgrade`.
  if (status === 101 || (status < 200 && !isPersistent)) throw notHttp('unexpected status');
  return status < 200;
};

/** Reads the response to a request that is not `HEAD` from the bytes of a connection, which may be cut anywhere. */
export const createResponseReader = (handler: ResponseHandler) => {
  /** Bytes of an incomplete head. */
  let pending: Buffer | undefined;
  let head: Head | undefined;
  let readBody: BodyReader | undefined;
  /** The response ended with the last byte that has come. */
  let isExact = false;

  /**
   * Returns whether the response is complete. The reader may move data within the bytes.
   * @throws Error for bytes that are not HTTP/1.1
   */
  const push = (bytes: Buffer): boolean => {
    if (!readBody) return start(pending ? Buffer.concat([pending, bytes]) : bytes);
    const end = readBody(bytes, 0);
    isExact = end === bytes.length;
    return end !== -1;
  };
  const start = (bytes: Buffer): boolean => {
    let taken = takeHead(bytes);
    let rest = bytes;
    while (taken && isInterim(taken.head)) {
      rest = taken.rest;
      taken = takeHead(rest);
    }
    pending = taken || rest.length === 0 ? undefined : rest;
    if (!taken) return false;
    head = taken.head;
    readBody = bodyReaderFor(head, handler);
    handler.onHead(head);
    return push(taken.rest);
  };

  return {
    push,
    /** The connection has ended. Returns whether the response is complete, which may have no other end. */
    end: (): boolean => {
      const { 'content-length': length, 'transfer-encoding': encoding } = head?.headers ?? {};
      return head !== undefined && length === undefined && encoding === undefined;
    },
    /** Whether the connection may carry another request after the response. */
    canContinue: (): boolean => isExact && head?.isPersistent === true,
  };
};
