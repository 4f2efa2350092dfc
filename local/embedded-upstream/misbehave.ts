import { formatSse } from '../../lambdas/protocols/streams/sse.ts';
import { apiError } from '../../lambdas/support/errors.ts';
import { ODD_BODIES, ODD_BYTES } from './body-oddities.ts';
import type { Fault } from './faults.ts';
import type { PlannedResponse } from './planned-response.ts';
import type { ResponseWriter } from './response-writer.ts';

const NOT_JSON = '{"choices":[{"delta":';

const PING_MS = 20;

const sendPings = async (writer: ResponseWriter): Promise<void> => {
  while (!writer.closed) {
    await writer.write(': ping\n\n');
    await writer.wait(PING_MS);
  }
};

/** Sends the response of a fault that strikes before the headers. Returns false for any other. */
export const sendFault = async (
  fault: Fault | undefined,
  writer: ResponseWriter,
  { protocol, meta, failureText }: PlannedResponse,
): Promise<boolean> => {
  switch (fault?.kind) {
    case 'status': {
      const retry = fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter };
      writer.head(fault.status, { 'content-type': 'application/json', ...retry });
      const error = apiError(failureText, { status: fault.status });
      writer.end(JSON.stringify(protocol.encodeError(error, meta.id)));
      return true;
    }
    case 'redirect':
      writer.head(fault.status ?? 307, { location: fault.location ?? '/elsewhere' });
      writer.end();
      return true;
    case 'body': {
      const { headers, body } = ODD_BODIES[fault.as]();
      writer.head(200, headers);
      writer.end(body);
      return true;
    }
    case 'bytes':
      writer.endRaw(ODD_BYTES[fault.as]);
      return true;
    case 'pings':
      writer.head(200, { 'content-type': 'text/event-stream' });
      await sendPings(writer);
      return true;
    case 'empty':
      writer.head(200, { 'content-type': 'text/event-stream' });
      writer.end();
      return true;
    case 'reset':
    case 'stall':
      if (fault.after !== undefined) return false;
      await (fault.kind === 'reset' ? writer.reset() : writer.hang());
      return true;
    default:
      return false;
  }
};

/** Number of messages, of `total`, that are sent before the fault; undefined if it sends them all. */
export const breakOffIndex = (fault: Fault | undefined, total: number): number | undefined => {
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

/** Ends a partly sent response as the fault requires. */
export const breakOff = async (
  fault: Fault | undefined,
  writer: ResponseWriter,
  { protocol, meta, failureText }: PlannedResponse,
): Promise<void> => {
  switch (fault?.kind) {
    case 'reset':
      return writer.reset();
    case 'stall':
      return writer.hang();
    case 'malformed':
      return writer.end(formatSse({ data: NOT_JSON }));
    case 'error': {
      const error = apiError(failureText);
      const messages = protocol.encodeStreamError(error, meta.id, meta, '');
      return writer.end(messages.map(formatSse).join(''));
    }
    default:
      return writer.end();
  }
};
