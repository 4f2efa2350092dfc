import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

/** Writes one HTTP response. Once the router disconnected, its methods do nothing and resolve. */
export type ResponseWriter = {
  readonly closed: boolean;
  head(status: number, headers: Record<string, string>): void;
  write(text: string | Uint8Array): Promise<void>;
  /** Waits `ms` milliseconds; 0 returns without yielding. */
  wait(ms: number): Promise<void>;
  end(text?: string | Uint8Array): void;
  /** Writes bytes to the socket instead of an HTTP response and closes it. */
  endRaw(bytes: string): void;
  /** Keeps the connection open until the router closes it. */
  hang(): Promise<void>;
  /** Closes the connection with a TCP reset. */
  reset(): void;
};

export const createResponseWriter = (response: ServerResponse): ResponseWriter => {
  const closing = new AbortController();
  response.once('close', () => closing.abort());
  const untilClosed = async (wait: (signal: AbortSignal) => Promise<unknown>) => {
    if (closing.signal.aborted) return;
    await wait(closing.signal).catch((error: unknown) => {
      if (!closing.signal.aborted) throw error;
    });
  };
  return {
    get closed() {
      return closing.signal.aborted;
    },
    head: (status, headers) => {
      response.writeHead(status, headers);
      response.flushHeaders();
    },
    write: async (text) => {
      if (closing.signal.aborted || response.write(text)) return;
      await untilClosed((signal) => once(response, 'drain', { signal }));
    },
    wait: async (ms) => {
      if (ms === 0) return;
      await untilClosed((signal) => sleep(ms, undefined, { signal }));
      // In a busy process a timer fires before the router has read what was written.
      await setImmediate();
    },
    end: (text = '') => {
      response.end(text);
    },
    endRaw: (bytes) => {
      response.socket?.end(bytes, 'latin1');
    },
    hang: () =>
      new Promise((resolve) => {
        if (closing.signal.aborted) resolve();
        else closing.signal.addEventListener('abort', () => resolve());
      }),
    reset: () => {
      response.socket?.resetAndDestroy();
    },
  };
};
