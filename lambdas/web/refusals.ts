import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { familyOf } from '../http/family.ts';
import { type ApiError, invalidRequest } from '../support/errors.ts';
import { newRequestId, type RandomBytes } from '../support/ids.ts';

/** What Node's parser calls the faults that have a status of their own. */
const PARSER_STATUS: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

export type Refusals = {
  /** Answers what never reaches the router: on AWS these answers are the platform's. */
  refuse(response: ServerResponse, path: string, error: ApiError): void;
  /** Answers bytes that are no HTTP request; there is no path yet, so the envelope is the chat family's. */
  refuseBytes(socket: Duplex, fault: Error & { code?: string }): void;
};

export const createRefusals = (randomBytes: RandomBytes): Refusals => {
  const answerTo = (path: string, error: ApiError) => {
    const requestId = newRequestId(randomBytes);
    const body = JSON.stringify(familyOf(path).encodeError(error, requestId));
    const headers = {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
      'x-request-id': requestId,
      'request-id': requestId,
    };
    return { body, headers };
  };
  return {
    refuse: (response, path, error) => {
      const { body, headers } = answerTo(path, error);
      response.writeHead(error.status, headers).end(body);
    },
    refuseBytes: (socket, fault) => {
      if (!socket.writable || fault.code === 'ECONNRESET') {
        socket.destroy();
        return;
      }
      const status = PARSER_STATUS[fault.code ?? ''] ?? 400;
      const error = invalidRequest('The request is not valid HTTP.', { status });
      const { body, headers } = answerTo('', error);
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
    },
  };
};
