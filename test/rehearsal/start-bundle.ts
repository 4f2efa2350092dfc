import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
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

const WORKER = new URL('bundle-worker.ts', import.meta.url);

type Thread = { env: Record<string, string>; slowness: number };
const startThread = (folder: string, { env, slowness }: Thread) => {
  const worker = new Worker(WORKER, { workerData: { folder, slowness }, env });
  return {
    on: (event: 'message' | 'error', listener: (value: unknown) => void) => {
      worker.on(event, listener);
    },
    send: (invocation: object) => worker.postMessage(invocation),
    stop: () => worker.terminate(),
  };
};

const startProcess = (folder: string, env: Record<string, string>) => {
  const child = fork(fileURLToPath(WORKER), [folder], { env, stdio: 'inherit' });
  return {
    on: (event: 'message' | 'error', listener: (value: unknown) => void) => {
      child.on(event, listener);
    },
    send: (invocation: object) => child.send(invocation),
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    },
  };
};

/**
 * A thread, or a process, with a shipped bundle, whose clock is where each invocation puts it. The timers of a thread
 * last `slowness` times as long.
 */
export const startBundle = (
  folder: string,
  env: Record<string, string>,
  { isProcess = false, slowness = 1 } = {},
) => {
  const worker = isProcess ? startProcess(folder, env) : startThread(folder, { env, slowness });
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
      worker.send({ id: count, now, event, remainingMs });
      return result.promise;
    },
    /** What was written since the last time. */
    takeLines: (): string[] => {
      const taken = lines;
      lines = [];
      return taken;
    },
    stop: worker.stop,
  };
};
