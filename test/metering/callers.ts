import { type Asked, askFor } from './ask.ts';
import type { Fleet } from './fleet.ts';

export type Call = Pick<Asked, 'key' | 'model' | 'stream'>;

/** What a caller got. `type` is that of the error, or `answer`, or `error event` of a stream that broke off. */
export type Seen = { call: Call; status: number; type: string; headers: Record<string, string> };

const PATHS = ['/v1/chat/completions', '/v1/messages'];
const FAILURE = /event: error/;

const typeOf = (status: number, text: string): string => {
  if (status === 200) return FAILURE.test(text) ? 'error event' : 'answer';
  return (JSON.parse(text) as { error: { type: string } }).error.type;
};

/** Sends all calls at once, in turn to each process and on each protocol. */
export const callAtOnce = (servers: Fleet['servers'], calls: Call[]): Promise<Seen[]> => {
  const send = async (call: Call, n: number): Promise<Seen> => {
    const url = servers[n % servers.length]?.url ?? '';
    const response = await askFor(url, { ...call, path: PATHS[n % PATHS.length] ?? '' });
    const { status, headers } = response;
    const type = typeOf(status, await response.text());
    return { call, status, type, headers: Object.fromEntries(headers) };
  };
  return Promise.all(calls.map(send));
};

/** While the last units are in flight a request over the quota gets the retryable 429. */
export const isReserved = ({ status, headers }: Seen): boolean =>
  status === 429 && headers['x-should-retry'] === 'true' && headers['retry-after'] === '1';

export const tally = (seen: Pick<Seen, 'status' | 'type'>[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { status, type } of seen) {
    const name = `${status} ${type}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
};

/** Requests admitted in the minute; units charged and units in flight in the period. */
export type Used = { minute: number; period: number; reserved: number };

export const usageOf = async (fleet: Fleet, key: string): Promise<Used> => {
  const response = await fetch(`${fleet.servers[0]?.url}/v1/usage`, {
    headers: { 'x-api-key': key },
  });
  const { minute, period } = (await response.json()) as {
    minute: { used: number };
    period: { used: number; reserved: number };
  };
  return { minute: minute.used, period: period.used, reserved: period.reserved };
};
