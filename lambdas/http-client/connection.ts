import type { Socket } from 'node:net';
import type { Bytes } from '../support/bytes.ts';
import {
  createResponseReader,
  type ResponseHandler,
  type ResponseReader,
} from './response-reader.ts';
import { isUnacknowledged } from './unacknowledged.ts';

/** Gets what becomes of a request; `onEnd` or `onError` is its last call. */
export type ExchangeHandler = ResponseHandler & {
  /** The connection is there, TLS handshake included. */
  onConnect(): void;
  /** The response is complete. */
  onEnd(): void;
  /** The connection failed, or was closed before the response was complete. */
  onError(error: Error): void;
};

/** One request in flight. */
export type Exchange = {
  /** Whether the connection carried another request before: its server may have closed it since. */
  isReused: boolean;
  /** Whether bytes of a response have arrived, so that the request has. */
  hasBytes(): boolean;
  /** Stops reading, and with it the server, until `resume`. */
  pause(): void;
  resume(): void;
  /** Whether its connection is known to be dead, as far as the system shows it. */
  isUnacknowledged(): Promise<boolean>;
  /** Closes the connection if the response is not complete. No call of the handler follows. */
  destroy(): void;
  /** The same after a timeout: a reused connection without a byte of the response may be dead, and idle ones with it. */
  expire(): void;
};

/** A connection, which carries one request after the other. */
export type Connection = {
  /** Sends a request: the bytes before its body, and the body. */
  send(head: string, body: Bytes, handler: ExchangeHandler): Exchange;
  /** Whether it can carry a request: it may have been closed since it became idle. */
  isOpen(): boolean;
  /** Closes an idle connection. */
  destroy(): void;
};

const NOT_ASCII = /[\x80-\xff]/;

/** A head has one byte a character. */
const write = (socket: Socket, head: string, body: Bytes): void => {
  if (typeof body === 'string' && !NOT_ASCII.test(head)) {
    // Without a buffer of its size, whose memory V8 collects in full collections only.
    socket.write(head + body);
    return;
  }
  socket.cork();
  socket.write(head, 'latin1');
  for (const piece of Array.isArray(body) ? body : [body]) socket.write(piece);
  socket.uncork();
};

const closedEarly = (): Error =>
  Object.assign(new Error('The connection was closed before the response was complete.'), {
    code: 'ECONNRESET',
  });

/** What the owner of connections does with one. */
export type ConnectionEvents = {
  /** It can carry the next request; `keepAlive` is its server's header of that name. */
  onIdle(connection: Connection, keepAlive: string | undefined): void;
  onClose(connection: Connection): void;
  /**
   * It failed, or timed out, without a byte of a response: its server may have rejected the TLS session, or forgotten
   * the idle connections.
   */
  onUnanswered(): void;
};

type Carried = { handler: ExchangeHandler; reader: ResponseReader; hasBytes: boolean };

/** @param connected the socket's event for a connection that can be written to */
export const createConnection = (
  socket: Socket,
  connected: 'connect' | 'secureConnect',
  { onIdle, onClose, onUnanswered }: ConnectionEvents,
): Connection => {
  let responses = 0;
  let current: Carried | undefined;
  let isConnected = false;
  let keepAlive: string | undefined;

  const fail = (error: Error) => {
    const failed = current;
    current = undefined;
    socket.destroy();
    if (failed?.hasBytes === false) onUnanswered();
    failed?.handler.onError(error);
  };

  const finish = () => {
    const finished = current;
    current = undefined;
    responses += 1;
    // A server may respond before it has read the request.
    if (finished?.reader.canContinue() && socket.writableLength === 0) {
      // Idle, it does not keep the process alive.
      socket.resume().unref();
      onIdle(connection, keepAlive);
    } else {
      socket.destroy();
    }
    finished?.handler.onEnd();
  };

  /** Returns whether the bytes complete the response; what is not HTTP ends the connection. */
  const completes = (reader: ResponseReader, bytes: Buffer): boolean => {
    try {
      return reader.push(bytes);
    } catch (error) {
      fail(error as Error);
      return false;
    }
  };

  socket
    .on('data', (bytes: Buffer) => {
      const reading = current;
      if (!reading) {
        // Bytes without a request.
        socket.destroy();
        return;
      }
      reading.hasBytes = true;
      // The handler may destroy its exchange while it gets the bytes.
      if (completes(reading.reader, bytes) && current === reading) finish();
    })
    .on('end', () => {
      // Not left to `close`, which Node emits after the request is written: a server that ended may read no more of it.
      if (current?.reader.end()) finish();
      else if (current) fail(closedEarly());
    })
    .on('error', fail)
    // An error or the end came before, so that no request is in flight.
    .on('close', () => onClose(connection))
    .once(connected, () => {
      isConnected = true;
      current?.handler.onConnect();
    });

  const connection: Connection = {
    send: (head, body, handler) => {
      const reader = createResponseReader({
        onData: (bytes) => {
          if (current === sent) handler.onData(bytes);
        },
        onHead: (response) => {
          keepAlive = response.headers['keep-alive'];
          handler.onHead(response);
        },
      });
      const sent: Carried = { handler, reader, hasBytes: false };
      current = sent;
      socket.ref();
      write(socket, head, body);
      const isReused = responses > 0;
      const ifCurrent = (action: () => void) => () => {
        if (current === sent) action();
      };
      const abandon = (isTimeout: boolean) =>
        ifCurrent(() => {
          current = undefined;
          socket.destroy();
          if (!isConnected || (isTimeout && isReused && !sent.hasBytes)) onUnanswered();
        });
      return {
        isReused,
        hasBytes: () => sent.hasBytes,
        pause: ifCurrent(() => socket.pause()),
        resume: ifCurrent(() => socket.resume()),
        isUnacknowledged: () => isUnacknowledged(socket),
        destroy: abandon(false),
        expire: abandon(true),
      };
    },
    isOpen: () => socket.readyState === 'open',
    destroy: () => socket.destroy(),
  };
  return connection;
};
