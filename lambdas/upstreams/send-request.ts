import {
  type Agent,
  type ClientRequest,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import type { Clock } from '../support/clock.ts';
import { CONNECT_MS } from './deadlines.ts';

export type SendOptions = {
  url: URL;
  headers: Record<string, string>;
  body: Uint8Array;
  clock: Clock;
};

export type SendEvents = {
  onConnected(): void;
  onConnectTimeout(): void;
  onResponse(response: IncomingMessage): void;
  onError(error: Error): void;
  /** The connection is over; after `upgrade` (101) without `onResponse` or `onError` before it. */
  onClose(): void;
};

/** Calls `onConnected` once the socket is connected, TLS handshake included. */
const whenConnected = (socket: Socket, protocol: string, onConnected: () => void) => {
  if (!socket.connecting) onConnected();
  else socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', onConnected);
};

/** Sends one POST through `agent`, or on a new connection. Never follows a redirect. */
export const sendRequest = (
  { url, headers, body, clock }: SendOptions,
  agent: Agent | false,
  { onConnected, onConnectTimeout, onResponse, onError, onClose }: SendEvents,
): ClientRequest => {
  const open = url.protocol === 'https:' ? requestHttps : requestHttp;
  const cancelTimeout = clock.after(CONNECT_MS, onConnectTimeout);
  const connected = () => {
    cancelTimeout();
    onConnected();
  };
  return open(url, { method: 'POST', headers, agent })
    .on('socket', (socket) => whenConnected(socket, url.protocol, connected))
    .on('response', onResponse)
    .on('error', onError)
    .on('close', () => {
      cancelTimeout();
      onClose();
    })
    .end(body);
};
