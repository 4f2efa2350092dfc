import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const children: ChildProcess[] = [];

/** Starts a file of this folder and returns its pid with the first message that it sends. */
export const start = async <Message>(file: string, ...args: string[]) => {
  const path = fileURLToPath(new URL(file, import.meta.url));
  // Log lines are written and discarded.
  const child = fork(path, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  children.push(child);
  const [message] = (await once(child, 'message')) as [Message];
  return { pid: child.pid ?? 0, ...message };
};

export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
};

const isUp = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

type Started = { url: string; args: string[]; env: Record<string, string> };

/** Starts a Node process and waits until it answers at `url`. Its stdout is discarded. */
export const startServer = async ({ url, args, env }: Started, stderr: 'inherit' | 'ignore') => {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', stderr], env });
  children.push(child);
  while (!(await isUp(url))) {
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}.`);
  }
  return { pid: child.pid ?? 0, url };
};

/** Starts a Web Function's bundle as Lambda does, on a free port. */
export const startRouter = async (file: string, env: Record<string, string>) => {
  const endpoint = `127.0.0.1:${await freePort()}`;
  const own = { ...env, AWS_LAMBDA_HTTP_ENDPOINT: endpoint };
  return startServer({ url: `http://${endpoint}`, args: [file], env: own }, 'inherit');
};

/** Ties a process to a core, so that the measured one does not share its caches; a no-op without `taskset`. */
export const tie = (pid: number, core: number): void => {
  try {
    execFileSync('taskset', ['-acp', String(core), String(pid)], { stdio: 'ignore' });
  } catch {
    // The machine has one core, or no taskset: the ratios are only noisier.
  }
};

export const stop = (pid: number): void => {
  children.find((child) => child.pid === pid)?.kill('SIGKILL');
};

export const stopAll = (): void => {
  for (const child of children) child.kill('SIGKILL');
};

/** CPU that a process has used, in microseconds: the time of its threads on a core. */
export const cpuOf = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`)
    .map((task) => readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8'))
    .reduce((total, line) => total + Number(line.split(' ')[0]) / 1_000, 0);
