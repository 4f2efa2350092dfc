import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { readAddress } from '../http/read-address.ts';
import type { Clock } from '../support/clock.ts';
import { type ApiError, invalidRequest } from '../support/errors.ts';
import { newRequestId, type RandomBytes } from '../support/ids.ts';

/** Codes of Node's HTTP parser with a specific status; others are a 400. */
const PARSER_ERRORS: Record<string, ApiError> = {
  HPE_HEADER_OVERFLOW: invalidRequest('The headers are larger than 16 KB.', { status: 431 }),
  ERR_HTTP_REQUEST_TIMEOUT: invalidRequest('Timeout while reading the request.', { status: 408 }),
};
const NOT_HTTP = invalidRequest('The request is not valid HTTP.');

/** Maps a Node HTTP parser error to an ApiError; undefined if the socket is closed. */
export const parserError = ({ code }: Error & { code?: string }): ApiError | undefined =>
  code === 'ECONNRESET' ? undefined : (PARSER_ERRORS[code ?? ''] ?? NOT_HTTP);

export type HttpErrors = ReturnType<typeof createHttpErrors>;

export const createHttpErrors = (parts: { clock: Clock; randomBytes: RandomBytes }) => {
  const encode = (path: string, error: ApiError) => {
    const requestId = newRequestId(parts.randomBytes, parts.clock.now());
    const body = JSON.stringify(readAddress(path).protocol.encodeError(error, requestId));
    const headers = {
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
      'x-request-id': requestId,
      'request-id': requestId,
      ...error.headers,
    };
    return { body, headers };
  };
  return {
    /** Sends an error for a request that never reaches the router; on AWS the platform does this. */
    send: (response: ServerResponse, path: string, error: ApiError): void => {
      const { body, headers } = encode(path, error);
      response.writeHead(error.status, headers).end(body);
    },
    /** Sends an error for bytes that are not a request with a path, in the chat protocol's envelope. */
    sendRaw: (socket: Duplex, error: ApiError): void => {
      if (!socket.writable) {
        socket.destroy();
        return;
      }
      const { status } = error;
      const { body, headers } = encode('', error);
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
    },
  };
};
