import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { protocolOf } from '../http/protocol-of.ts';
import { type ApiError, invalidRequest } from '../support/errors.ts';
import { newRequestId, type RandomBytes } from '../support/ids.ts';

/** What Node's parser calls the faults that have a status of their own. */
const PARSER_FAULTS: Record<string, ApiError> = {
  HPE_HEADER_OVERFLOW: invalidRequest('The headers are larger than 16 KB.', { status: 431 }),
  ERR_HTTP_REQUEST_TIMEOUT: invalidRequest('The request did not arrive in time.', { status: 408 }),
};
const NOT_HTTP = invalidRequest('The request is not valid HTTP.');

/** What a fault of Node's parser is to the caller; undefined where nobody is left to tell. */
export const parserError = ({ code }: Error & { code?: string }): ApiError | undefined =>
  code === 'ECONNRESET' ? undefined : (PARSER_FAULTS[code ?? ''] ?? NOT_HTTP);

export type HttpErrors = {
  /** Answers what never reaches the router: on AWS these answers are the platform's. */
  refuse(response: ServerResponse, path: string, error: ApiError): void;
  /** Answers what is no request with a path, so the envelope is the chat family's. */
  refuseBytes(socket: Duplex, error: ApiError): void;
};

export const createHttpErrors = (randomBytes: RandomBytes): HttpErrors => {
  const answerTo = (path: string, error: ApiError) => {
    const requestId = newRequestId(randomBytes);
    const body = JSON.stringify(protocolOf(path).encodeError(error, requestId));
    const headers = {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
      'x-request-id': requestId,
      'request-id': requestId,
      ...error.headers,
    };
    return { body, headers };
  };
  return {
    refuse: (response, path, error) => {
      const { body, headers } = answerTo(path, error);
      response.writeHead(error.status, headers).end(body);
    },
    refuseBytes: (socket, error) => {
      if (!socket.writable) {
        socket.destroy();
        return;
      }
      const { status } = error;
      const { body, headers } = answerTo('', error);
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
    },
  };
};
