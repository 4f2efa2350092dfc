import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Order, Report } from './client.ts';
import type { Command } from './toolchains.ts';

/** The first order waits for the imports of a library. */
const ORDER_MS = 120_000;

export type Driver = {
  /** @throws Error when the driver dies or stays silent */
  play(order: Order): Promise<Report>;
  close(): void;
};

/** Runs a driver process, which answers each line of its input with one line of output. */
export const startDriver = ({ command, args, env, cwd }: Command): Driver => {
  let child: ChildProcessWithoutNullStreams | undefined;
  let waiting: ((line: string | undefined) => void) | undefined;
  let complaints = '';
  const start = (): ChildProcessWithoutNullStreams => {
    const started = spawn(command, args, { cwd, env: { ...process.env, ...env } });
    createInterface(started.stdout).on('line', (line) => {
      // Libraries print to the output as well.
      if (line.startsWith('{"report":')) waiting?.(line);
    });
    started.stderr.on('data', (text) => {
      complaints = `${complaints}${text}`.slice(-2_000);
    });
    started.on('close', () => waiting?.(undefined));
    started.on('error', () => waiting?.(undefined));
    started.stdin.on('error', () => {});
    return started;
  };
  const close = () => {
    child?.kill('SIGKILL');
    child = undefined;
  };
  return {
    play: async (order) => {
      child ??= start();
      const { stdin } = child;
      const line = await new Promise<string | undefined>((resolve) => {
        const timer = setTimeout(() => resolve(undefined), ORDER_MS);
        waiting = (text) => {
          clearTimeout(timer);
          resolve(text);
        };
        stdin.write(`${JSON.stringify(order)}\n`);
      });
      if (line !== undefined) return JSON.parse(line).report;
      close();
      throw new Error(`the driver gave no report: ${complaints.slice(-300)}`);
    },
    close,
  };
};
