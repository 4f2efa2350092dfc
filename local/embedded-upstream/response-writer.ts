import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

export type ResponseWriter = ReturnType<typeof createResponseWriter>;

/** Writes one HTTP response. Once the router disconnected, its methods do nothing and resolve. */
export const createResponseWriter = (response: ServerResponse) => {
  const closing = new AbortController();
  response.once('close', () => closing.abort());
  const untilClosed = async (wait: (signal: AbortSignal) => Promise<unknown>) => {
    if (closing.signal.aborted) return;
    await wait(closing.signal).catch((error: unknown) => {
      if (!closing.signal.aborted) throw error;
    });
  };
  return {
    get closed(): boolean {
      return closing.signal.aborted;
    },
    head: (status: number, headers: Record<string, string>): void => {
      response.writeHead(status, headers);
      response.flushHeaders();
    },
    write: async (text: string | Uint8Array): Promise<void> => {
      if (closing.signal.aborted || response.write(text)) return;
      await untilClosed((signal) => once(response, 'drain', { signal }));
    },
    /** Waits `ms` milliseconds; 0 returns without yielding. */
    wait: async (ms: number): Promise<void> => {
      if (ms === 0) return;
      await untilClosed((signal) => sleep(ms, undefined, { signal }));
      // In a busy process a timer fires before the router has read what was written.
      await setImmediate();
    },
    end: (text: string | Uint8Array = ''): void => {
      response.end(text);
    },
    /** Writes bytes to the socket instead of an HTTP response and closes it. */
    endRaw: (bytes: string): void => {
      response.socket?.end(bytes, 'latin1');
    },
    /** Keeps the connection open until the router closes it. */
    hang: (): Promise<void> =>
      new Promise((resolve) => {
        if (closing.signal.aborted) resolve();
        else closing.signal.addEventListener('abort', () => resolve());
      }),
    /** Closes the connection with a TCP reset. */
    reset: (): void => {
      response.socket?.resetAndDestroy();
    },
  };
};
