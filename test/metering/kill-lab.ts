import { setTimeout as pause } from 'node:timers/promises';
import { type DynamoProxy, startDynamoProxy, type TableCall } from './dynamo-proxy.ts';
import { type Fleet, startFleet } from './fleet.ts';

const START = Date.parse('2026-11-21T11:30:00Z');
/** Units of dead processes are refunded. */
const REAPED_AFTER_MS = 18 * 60_000;
const PLENTY = { rpm: 1_000_000, quota: 1_000_000 };
const APPLIED_AFTER_MS = 100;
const HELD_MS = 15_000;

/** `kill -9` of a process while one of its writes has no response: it was not applied, or it was. */
export type Moment = { write: number; isApplied: boolean };

/** A part of a response, and whether that is all of it. */
export type Received = { text: string; isWhole: boolean };

const isWrite = ({ operation }: TableCall): boolean => operation === 'UpdateItem';

const read = async (asked: Promise<Response>): Promise<Received> => {
  let text = '';
  try {
    const response = await asked;
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
    }
    return { text, isWhole: response.status === 200 };
  } catch {
    return { text, isWhole: false };
  }
};

/** Two processes, of which the first dies at a chosen write of its tables. */
export const startKillLab = async () => {
  let now = START;
  let proxy: DynamoProxy | undefined;
  const fleet: Fleet = await startFleet({
    now,
    skews: [0, 0],
    wayToTables: async (endpoint, server) => {
      if (server > 0) return endpoint;
      proxy ??= await startDynamoProxy(endpoint);
      return proxy.url;
    },
  });
  const pass = (ms: number) => {
    now += ms;
    fleet.setNow(now);
  };
  const urlOf = (server: number) => fleet.servers[server]?.url ?? '';

  return {
    pass,
    urlOf,
    newKey: () => fleet.createKey({ plan: PLENTY }),
    calls: () => fleet.upstreams.calls.length,
    /** The writes of a request of the first process that lives. */
    writesOf: async (asked: () => Promise<Response>): Promise<TableCall[]> => {
      const from = proxy?.calls.length ?? 0;
      await read(asked());
      // Its record is written after its response.
      await pause(200);
      return (proxy?.calls ?? []).slice(from).filter(isWrite);
    },
    /** Sends a request to the first process and kills that at its write; a new one takes its place. */
    killAt: async ({ write, isApplied }: Moment, asked: () => Promise<Response>) => {
      const reached = Promise.withResolvers<void>();
      let writes = 0;
      proxy?.decide(async (call) => {
        if (!isWrite(call)) return 'none';
        writes += 1;
        if (writes <= write) return 'none';
        const isLast = writes === write + 1;
        if (isLast) setTimeout(reached.resolve, APPLIED_AFTER_MS);
        return isLast && isApplied ? 'lost answer' : pause(HELD_MS, 'reset', { ref: false });
      });
      const received = read(asked());
      await reached.promise;
      fleet.servers[0]?.process.kill('SIGKILL');
      proxy?.decide(() => 'none');
      await fleet.replace(0);
      return received;
    },
    /** Once no unit of a dead process is left. */
    usageOf: async (key: string): Promise<{ used: number; reserved: number }> => {
      pass(REAPED_AFTER_MS);
      const response = await fetch(`${urlOf(1)}/v1/usage`, { headers: { 'x-api-key': key } });
      const { period } = (await response.json()) as { period: { used: number; reserved: number } };
      return { used: period.used, reserved: period.reserved };
    },
    read,
    close: async () => {
      await fleet.close();
      await proxy?.close();
    },
  };
};
