import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import * as z from 'zod';
import { sharedScript } from '../support/shared-bundle.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const startScript = (script: string[], args: string[], env: Record<string, string>) => {
  const child = spawn(process.execPath, [...script, ...args], {
    ...{ cwd: root, env: { ...process.env, PORT: '0', ...env } },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
};

/** Runs the command of `npm start` without npm. */
export const start = (args: string[], env: Record<string, string> = {}) =>
  startScript(['--import', './local/require-node.mjs', 'local/main.ts'], args, env);

/** The same program as one file, without the console: it starts with a third of the CPU, for tests of what it does once it runs. */
export const startBuilt = (args: string[], env: Record<string, string> = {}) =>
  startScript([sharedScript('local/main.ts')], args, env);

const Ready = z.strictObject({ baseUrl: z.url(), key: z.string() });

/** The ready line of a router started with --json, and all lines of its output. */
export const untilReady = async (child: ReturnType<typeof start>) => {
  const lines: string[] = [];
  const reader = createInterface(child.stdout).on('line', (line) => lines.push(line));
  await once(reader, 'line');
  return { ...Ready.parse(JSON.parse(lines[0] ?? '')), lines };
};
