import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { LocalOptions, LocalRouter } from '../../local/start.ts';
import { type DynamoRouter, startOnDynamo } from '../support/dynamo-stores.ts';
import { watchLine } from '../support/leak-watch.ts';
import { type LogLine, parseLine } from '../support/log-line.ts';
import { sharedScript } from '../support/shared-bundle.ts';
import type { ServerMessage, ServerOrder } from './server-process.ts';
import { testModels } from './test-models.ts';

export type Server = { url: string; process: ChildProcess };

export type Fleet = {
  servers: Server[];
  /** All processes' logs, parsed. */
  lines: LogLine[];
  setNow(now: number): void;
  createKey: LocalRouter['createKey'];
  upstreams: LocalRouter['upstreams'];
  /** The router that the tables belong to; its clock is the machine's. */
  home: Pick<DynamoRouter, 'baseUrl' | 'endpoints'>;
  /** `kill -9`, and a new process in its place. */
  replace(index: number): Promise<void>;
  close(): Promise<void>;
};

const start = async (
  order: ServerOrder,
  { lines, nodeOptions }: { lines: Fleet['lines']; nodeOptions: string[] },
): Promise<Server> => {
  const process = fork(sharedScript('test/metering/server-process.ts'), { execArgv: nodeOptions });
  const ready = new Promise<string>((resolve, reject) => {
    process.on('message', (message: ServerMessage) => {
      if ('url' in message) resolve(message.url);
      else {
        watchLine(message.line);
        lines.push(parseLine(message.line));
      }
    });
    process.once('exit', (code) => reject(new Error(`The server ended with ${code}.`)));
  });
  process.send(order);
  return { url: await ready, process };
};

const end = async ({ process }: Server, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const exited = once(process, 'exit');
  process.kill(signal);
  await exited;
};

/** Server processes that share one embedded DynamoDB and one embedded upstream. */
export const startFleet = async ({
  now,
  skews,
  nodeOptions = [],
  patience = 30_000,
  slowness = 1,
  wayToTables = async (endpoint) => endpoint,
  local = { catalog: testModels() },
}: {
  now: number;
  /** One process each, its clock off by so many ms. */
  skews: number[];
  /** Options of Node for each process. */
  nodeOptions?: string[];
  /** Milliseconds for one call of the tables, which all share one process. */
  patience?: number;
  /** How much longer the timers of the processes take. */
  slowness?: number;
  /** The address at which a server reaches the tables. */
  wayToTables?: (endpoint: string, server: number) => Promise<string>;
  /** In place of the test models on the embedded upstream. */
  local?: LocalOptions;
}): Promise<Fleet> => {
  const home = await startOnDynamo(local);
  const lines: Fleet['lines'] = [];
  let current = now;
  const startAt = async (skew: number, server: number) => {
    const dynamo = await wayToTables(home.endpoints.dynamo, server);
    const order = { ...home.endpoints, dynamo, models: home.models, now: current, skew };
    return start({ ...order, patience, slowness }, { lines, nodeOptions });
  };
  const servers = await Promise.all(skews.map(startAt));
  return {
    servers,
    lines,
    setNow: (next) => {
      current = next;
      for (const { process } of servers) process.send({ now: next });
    },
    createKey: home.createKey,
    upstreams: home.upstreams,
    home,
    replace: async (index) => {
      const old = servers[index];
      if (!old) return;
      // The new process first: a refused connection would only blur the ledger.
      servers[index] = await startAt(skews[index] ?? 0, index);
      await end(old, 'SIGKILL');
    },
    close: async () => {
      await Promise.all(servers.map((server) => end(server, 'SIGTERM')));
      await home.close();
    },
  };
};
