import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export type RunOptions = {
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** What it reads from its standard input. */
  input: string;
  timeoutMs: number;
};

/** `code` is null when the process was ended for taking too long. */
export type Ran = { code: number | null; stdout: string; stderr: string };

/** Runs a command to its end. @throws Error when it cannot be started. */
export const run = async (
  command: string,
  args: string[],
  { cwd, env, input, timeoutMs }: RunOptions,
): Promise<Ran> => {
  const child = spawn(command, args, { cwd, env, timeout: timeoutMs, killSignal: 'SIGKILL' });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  // An agent that ends before it has read its prompt says why on stderr.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
};
