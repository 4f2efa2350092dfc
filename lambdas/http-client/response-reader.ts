import { type BodyReader, bodyOfLength, bodyToEnd, chunkedBody } from './body-readers.ts';
import { type Head, notHttp, type ResponseHead, takeHead } from './response-head.ts';

/** Gets a response, piece by piece. */
export type ResponseHandler = {
  onHead(head: ResponseHead): void;
  /** Bytes of the body, without its framing. */
  onData(bytes: Buffer): void;
};

export type ResponseReader = ReturnType<typeof createResponseReader>;

/** By the rules of RFC 9112, section 6.3. */
const bodyReaderFor = (
  { status, headers }: ResponseHead,
  { onData }: ResponseHandler,
): BodyReader => {
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
