import { formatSse } from '../../lambdas/protocols/sse.ts';
import { apiError } from '../../lambdas/support/errors.ts';
import type { Answer } from './answer.ts';
import { ODD_BODIES, ODD_BYTES } from './body-oddities.ts';
import type { Fault } from './faults.ts';
import type { ResponseWriter } from './response-writer.ts';

const NOT_JSON = '{"choices":[{"delta":';

const PING_MS = 20;

const pingForever = async (exchange: ResponseWriter): Promise<void> => {
  while (!exchange.gone) {
    await exchange.write(': ping\n\n');
    await exchange.wait(PING_MS);
  }
};

/** Gives the answer of a fault that strikes before the headers; false when there is none to give. */
export const refuse = async (
  fault: Fault | undefined,
  exchange: ResponseWriter,
  { protocol, label }: Answer,
): Promise<boolean> => {
  switch (fault?.kind) {
    case 'status': {
      const retry = fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter };
      exchange.head(fault.status, { 'content-type': 'application/json', ...retry });
      const error = apiError('The embedded upstream was told to fail.', { status: fault.status });
      exchange.end(JSON.stringify(protocol.encodeError(error, label.id)));
      return true;
    }
    case 'redirect':
      exchange.head(fault.status ?? 307, { location: fault.location ?? '/elsewhere' });
      exchange.end();
      return true;
    case 'body': {
      const { headers, body } = ODD_BODIES[fault.as]();
      exchange.head(200, headers);
      exchange.end(body);
      return true;
    }
    case 'bytes':
      exchange.endRaw(ODD_BYTES[fault.as]);
      return true;
    case 'pings':
      exchange.head(200, { 'content-type': 'text/event-stream' });
      await pingForever(exchange);
      return true;
    case 'empty':
      exchange.head(200, { 'content-type': 'text/event-stream' });
      exchange.end();
      return true;
    case 'reset':
    case 'stall':
      if (fault.after !== undefined) return false;
      await (fault.kind === 'reset' ? exchange.reset() : exchange.hang());
      return true;
    default:
      return false;
  }
};

/** After how many messages of `total` a fault cuts the answer short; undefined when it lets it pass. */
export const cutPoint = (fault: Fault | undefined, total: number): number | undefined => {
  switch (fault?.kind) {
    case 'truncate':
      return fault.after ?? total;
    case 'reset':
    case 'stall':
    case 'malformed':
    case 'error':
      return fault.after ?? 0;
    default:
      return undefined;
  }
};

/** Ends an answer under way in the manner of the fault. */
export const cutShort = async (
  fault: Fault | undefined,
  exchange: ResponseWriter,
  { protocol, label }: Answer,
): Promise<void> => {
  switch (fault?.kind) {
    case 'reset':
      return exchange.reset();
    case 'stall':
      return exchange.hang();
    case 'malformed':
      return exchange.end(formatSse({ data: NOT_JSON }));
    case 'error': {
      const error = apiError('The embedded upstream was told to fail.');
      return exchange.end(
        protocol.encodeStreamError(error, label.id, label).map(formatSse).join(''),
      );
    }
    default:
      return exchange.end();
  }
};
