import { Worker } from 'node:worker_threads';
import * as z from 'zod';
import { watchLine } from '../support/leak-watch.ts';
import { linesIn } from '../support/log-line.ts';

const Message = z.union([
  z.object({ lines: z.string() }),
  z.object({
    id: z.number(),
    status: z.number().optional(),
    text: z.string().optional(),
    error: z.string().optional(),
  }),
]);
export type Result = { status?: number | undefined; text?: string | undefined };

/** A thread with a shipped bundle, whose clock is where each invocation puts it. */
export const startBundle = (folder: string, env: Record<string, string>) => {
  const worker = new Worker(new URL('bundle-worker.ts', import.meta.url), {
    workerData: { folder },
    env,
  });
  let lines: string[] = [];
  let count = 0;
  const pending = new Map<number, PromiseWithResolvers<Result>>();
  const fail = (error: unknown) => {
    for (const { reject } of pending.values()) reject(error);
    pending.clear();
  };
  worker.on('error', fail);
  worker.on('message', (value) => {
    const message = Message.parse(value);
    if ('lines' in message) {
      for (const line of linesIn(message.lines)) {
        watchLine(line);
        lines.push(line);
      }
      return;
    }
    const { id, error, ...result } = message;
    if (error === undefined) pending.get(id)?.resolve(result);
    else pending.get(id)?.reject(new Error(error));
    pending.delete(id);
  });
  return {
    invoke: (
      now: number,
      event: Record<string, unknown>,
      remainingMs = 900_000,
    ): Promise<Result> => {
      const result = Promise.withResolvers<Result>();
      count += 1;
      pending.set(count, result);
      worker.postMessage({ id: count, now, event, remainingMs });
      return result.promise;
    },
    /** What was written since the last time. */
    takeLines: (): string[] => {
      const taken = lines;
      lines = [];
      return taken;
    },
    stop: () => worker.terminate(),
  };
};
