import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { CliError } from '../../cli/cli-error.ts';
import { run } from '../../cli/run.ts';
import { sharedScript } from './shared-bundle.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export type Ended = { code: number | null; out: string; err: string };

/** Keeps what is written to it, as text. */
const createSink = () => {
  let written = '';
  const stream = new Writable({
    write(chunk, _, done) {
      written += chunk;
      done();
    },
  });
  return { stream, text: () => written };
};

/** A command of `npm run admin`, in this process; its stdin is no terminal, and no time passes, so that it shows no progress. */
export const runCli = async (args: string[], env: Record<string, string> = {}): Promise<Ended> => {
  const [out, err] = [createSink(), createSink()];
  const io = {
    stdin: Object.assign(new PassThrough().end(), { isTTY: false }),
    stdout: out.stream,
    stderr: err.stream,
    env: { ...process.env, ...env },
    elapsed: () => 0,
  };
  try {
    await run(args, Date.now(), io);
    return { code: 0, out: out.text(), err: err.text() };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { code: error.exitCode, out: out.text(), err: `${err.text()}${error.message}\n` };
  }
};

const exitCode = async (child: ChildProcess): Promise<number | null> => {
  const [code]: unknown[] = await once(child, 'exit');
  return typeof code === 'number' ? code : null;
};

const runProcess = async (
  script: string[],
  args: string[],
  env: Record<string, string> = {},
): Promise<Ended> => {
  const child = spawn(process.execPath, [...script, ...args], {
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

/** The script `entry` without npm, as a process whose stdin is no terminal. */
export const runScript = (
  entry: string,
  args: string[],
  env?: Record<string, string>,
): Promise<Ended> => runProcess(['--import', './local/require-node.mjs', entry], args, env);

/** The same as one file, which starts with a third of the CPU. */
export const runBuilt = (
  entry: string,
  args: string[],
  env?: Record<string, string>,
): Promise<Ended> => runProcess([sharedScript(entry)], args, env);
