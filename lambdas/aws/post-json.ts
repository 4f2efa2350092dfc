import type { Agent, IncomingMessage } from 'node:http';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import type { Clock } from '../support/clock.ts';

export type Timeouts = {
  /** Until the socket is connected, TLS handshake included. */
  connectMs: number;
  /** Until the last byte of the response. */
  requestMs: number;
};

export type JsonPost = {
  url: URL;
  headers: Record<string, string>;
  body: string;
  agent: Agent;
  clock: Clock;
  timeouts: Timeouts;
  signal?: AbortSignal | undefined;
};

export type JsonResponse = { status: number; headers: IncomingMessage['headers']; text: string };

const timeoutError = (what: string, ms: number): Error =>
  Object.assign(new Error(`${what} took more than ${ms} ms`), { name: 'TimeoutError' });

const collect = (response: IncomingMessage, onText: (text: string) => void) => {
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  response.on('end', () => onText(Buffer.concat(chunks).toString()));
};

/**
 * Sends one POST and reads the whole response; never repeats it and never follows a redirect. Whether a
 * request that failed has arrived is unknown. @throws Error; a TimeoutError, or the reason of `signal`
 */
export const postJson = ({ url, headers, body, agent, clock, timeouts, signal }: JsonPost) =>
  new Promise<JsonResponse>((resolve, reject) => {
    const open = url.protocol === 'https:' ? requestHttps : requestHttp;
    const request = open(url, { method: 'POST', headers, agent });
    const cancels: (() => void)[] = [];
    const end = () => {
      for (const cancel of cancels) cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    const fail = (error: unknown) => {
      end();
      // The connection cannot be reused: a late response would answer the next request.
      request.destroy();
      reject(error);
    };
    const onAbort = () => fail(signal?.reason);
    const failAfter = (ms: number, what: string) => {
      const cancel = clock.after(ms, () => fail(timeoutError(what, ms)));
      cancels.push(cancel);
      return cancel;
    };
    failAfter(timeouts.requestMs, 'The request');
    signal?.addEventListener('abort', onAbort, { once: true });
    request.on('socket', (socket: Socket) => {
      if (!socket.connecting) return;
      const cancel = failAfter(timeouts.connectMs, 'Connecting');
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', cancel);
    });
    request.on('response', (response) => {
      // Emitted as an error of the response only: `close` without `end` is a connection that was cut.
      response.on('error', fail);
      collect(response, (text) => {
        end();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    request.on('error', fail);
    request.end(body);
    if (signal?.aborted) onAbort();
  });
