import type { Exchange } from '../http-client/connection.ts';
import {
  createHttpConnections,
  type HttpRequest,
  timeoutError,
} from '../http-client/connections.ts';
import type { ResponseHead } from '../http-client/response-head.ts';
import { joinBytes } from '../support/bytes.ts';
import type { Clock } from '../support/clock.ts';

export type Timeouts = {
  /** Until the socket is connected, TLS handshake included. */
  connectMs: number;
  /** Until the last byte of the response. */
  requestMs: number;
};

export type AwsRequest = Omit<HttpRequest, 'path'> & { url: URL; signal?: AbortSignal | undefined };

export type AwsResponse = ResponseHead & { body: Buffer };

/** Requests at once, as the SDK has them; further ones wait. */
const MAX_REQUESTS = 50;

/** Sends requests to one origin, and reads their responses whole. */
export const createExchange = (
  origin: URL,
  { clock, timeouts }: { clock: Clock; timeouts: Timeouts },
) => {
  const connections = createHttpConnections(origin, { clock, connectMs: timeouts.connectMs });
  const waiting: (() => void)[] = [];
  let running = 0;

  /**
   * Never repeats a request: whether one that failed has arrived is unknown. @throws Error; a TimeoutError, or the
   * reason of `signal`
   */
  const exchange = ({ url, signal, ...request }: AwsRequest): Promise<AwsResponse> =>
    new Promise((resolve, reject) => {
      const parts: Buffer[] = [];
      let head: ResponseHead | undefined;
      let sent: Exchange | undefined;

      const end = () => {
        cancelTimeout();
        signal?.removeEventListener('abort', onAbort);
        if (sent) running -= 1;
        else if (waiting.includes(start)) waiting.splice(waiting.indexOf(start), 1);
        if (running < MAX_REQUESTS) waiting.shift()?.();
      };
      /** The connection cannot be reused: a late response would answer the next request. */
      const fail = (error: unknown, close: 'destroy' | 'expire' = 'destroy') => {
        end();
        sent?.[close]();
        reject(error);
      };
      const onAbort = () => fail(signal?.reason);

      const send = () => {
        sent = connections.send(
          { ...request, path: url.pathname + url.search },
          {
            onConnect: () => undefined,
            onHead: (received) => {
              head = received;
            },
            onData: (bytes) => parts.push(bytes),
            onEnd: () => {
              end();
              if (head) resolve({ ...head, body: joinBytes(parts) });
            },
            onError: fail,
          },
        );
        running += 1;
      };
      const start = () => {
        if (signal?.aborted) return onAbort();
        try {
          send();
        } catch (error) {
          fail(error);
        }
      };

      const cancelTimeout = clock.after(timeouts.requestMs, () =>
        fail(timeoutError('The request', timeouts.requestMs), 'expire'),
      );
      if (signal?.aborted) return onAbort();
      signal?.addEventListener('abort', onAbort, { once: true });
      if (running < MAX_REQUESTS) start();
      else waiting.push(start);
    });

  return { exchange, destroy: connections.destroy };
};
