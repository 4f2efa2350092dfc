import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

export type Ended = { code: number | null; out: string; err: string };

const exitCode = async (child: ChildProcess): Promise<number | null> => {
  const [code]: unknown[] = await once(child, 'exit');
  return typeof code === 'number' ? code : null;
};

/** The command of `npm run admin`, or another, without npm, as a process whose stdin is no terminal. */
export const runCli = async (
  args: string[],
  env: Record<string, string> = {},
  entry = 'cli/main.ts',
): Promise<Ended> => {
  const child = spawn(process.execPath, ['--import', './local/require-node.mjs', entry, ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    exitCode(child),
  ]);
  return { code, out, err };
};
