import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** One HTTP answer on its way out. Its verbs resolve early, and do nothing, once the router has gone. */
export type ResponseWriter = {
  readonly gone: boolean;
  head(status: number, headers: Record<string, string>): void;
  write(text: string | Uint8Array): Promise<void>;
  /** Milliseconds; 0 does not even yield. */
  wait(ms: number): Promise<void>;
  end(text?: string | Uint8Array): void;
  /** Puts bytes on the connection in place of an answer and closes it. */
  endRaw(bytes: string): void;
  /** Leaves the connection open until the router closes it. */
  hang(): Promise<void>;
  /** Closes the connection with a TCP reset. */
  reset(): void;
};

export const createExchange = (response: ServerResponse): ResponseWriter => {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  const untilClosed = async (wait: (signal: AbortSignal) => Promise<unknown>) => {
    if (closed.signal.aborted) return;
    await wait(closed.signal).catch((error: unknown) => {
      if (!closed.signal.aborted) throw error;
    });
  };
  return {
    get gone() {
      return closed.signal.aborted;
    },
    head: (status, headers) => {
      response.writeHead(status, headers);
      response.flushHeaders();
    },
    write: async (text) => {
      if (closed.signal.aborted || response.write(text)) return;
      await untilClosed((signal) => once(response, 'drain', { signal }));
    },
    wait: async (ms) => {
      if (ms > 0) await untilClosed((signal) => sleep(ms, undefined, { signal }));
    },
    end: (text = '') => {
      response.end(text);
    },
    endRaw: (bytes) => {
      response.socket?.end(bytes, 'latin1');
    },
    hang: () =>
      new Promise((resolve) => {
        if (closed.signal.aborted) resolve();
        else closed.signal.addEventListener('abort', () => resolve());
      }),
    reset: () => {
      response.socket?.resetAndDestroy();
    },
  };
};
