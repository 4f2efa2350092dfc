import type { LogFields } from '../lambdas/log-events.ts';
import type { Log } from '../lambdas/support/log.ts';

const requestLine = ({ method, route, status, ms, model }: LogFields): string =>
  [method, route ?? '(no such route)', status, `${ms} ms`, model]
    .filter((part) => part !== undefined)
    .join(' ');

/** A log for a terminal: one short line a request; what went wrong in full. */
export const createRequestLines = (write: (line: string) => void): Log => {
  const inFull: Log['warn'] = (event, fields) => write(`${event} ${JSON.stringify(fields)}\n`);
  return {
    info: (event, fields) => {
      if (event === 'request') write(`${requestLine(fields)}\n`);
    },
    warn: inFull,
    error: inFull,
  };
};
