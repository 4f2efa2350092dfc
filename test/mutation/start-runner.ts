import { fork } from 'node:child_process';
import { on } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Order, Report } from './runner.ts';

/** A process of runner.ts, with its Vitest. */
export type Runner = {
  /** The files of tests that failed; undefined if the process hangs, or ended. */
  run: (order: Order) => Promise<string[] | undefined>;
  end: () => void;
};

export const temporary = mkdtempSync(join(tmpdir(), 'mutation-'));
const runners = new Set<Runner>();

/** Of a process that hangs: its tests have timed out by then. */
const SILENCE = 3;

/** A process whose tests time out after `timeoutMs`; with a folder, it notes there what each file reaches. */
export const startRunner = async (timeoutMs: number, reached?: string): Promise<Runner> => {
  const child = fork('test/mutation/runner.ts', {
    // A group, so that the processes that tests start end with it.
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: {
      ...process.env,
      ...{ TMPDIR: mkdtempSync(join(temporary, 'run-')), MUTATION_TIMEOUT_MS: String(timeoutMs) },
      ...(reached !== undefined && { MUTATION_REACHED: reached }),
    },
  });
  // Keeps what arrives at once; ends with the process.
  const reports = on(child, 'message', { close: ['exit'] });
  const nextReport = async (): Promise<Report | undefined> => {
    const silence = new AbortController();
    const silent = pause(SILENCE * timeoutMs, undefined, silence).catch(() => undefined);
    const next = await Promise.race([reports.next(), silent]);
    silence.abort();
    return next?.value?.[0];
  };
  const runner: Runner = {
    run: async (order) => {
      child.send(order);
      for (let report = await nextReport(); report; report = await nextReport()) {
        if (report !== 'a test ended') return report.failed;
      }
      return undefined;
    },
    end: () => {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
        process.kill(-child.pid, 'SIGKILL');
      runners.delete(runner);
    },
  };
  runners.add(runner);
  if (!(await nextReport())) throw new Error('Vitest did not start');
  return runner;
};

/** Ends what is running and deletes what tests left. */
export const endRunners = (): void => {
  for (const runner of runners) runner.end();
  rmSync(temporary, { recursive: true, force: true, maxRetries: 10 });
};
