import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';

const STARTED = 'http.server.request.start';

/** What is asked of the tables of this process while `act` runs: `DynamoDB_20120810.GetItem`. */
export const tableCallsOf = async (act: () => Promise<unknown>): Promise<unknown[]> => {
  const calls: unknown[] = [];
  const count = (message: unknown) => {
    const { request } = message as { request: IncomingMessage };
    calls.push(request.headers['x-amz-target']);
  };
  subscribe(STARTED, count);
  await act();
  unsubscribe(STARTED, count);
  return calls;
};
