import { isOddBody, isOddBytes, type OddBodyName, type OddBytesName } from './body-oddities.ts';
import { isStreamOddity, type StreamOddity } from './stream-oddities.ts';

/**
 * Injected misbehaviour of an upstream. `after` is the number of SSE messages sent first (for a whole
 * response any number means half of its text); without it the fault strikes before the headers.
 */
export type Fault =
  | { kind: 'status'; status: number; retryAfter?: string }
  /** Redirects to another address, with 307 by default. */
  | { kind: 'redirect'; status?: number; location?: string }
  /** 200 with an unexpected body, see body-oddities.ts. */
  | { kind: 'body'; as: OddBodyName }
  /** Bytes that are not an HTTP response, see body-oddities.ts. */
  | { kind: 'bytes'; as: OddBytesName }
  /** An unusual or broken stream, see stream-oddities.ts. */
  | { kind: 'stream'; as: StreamOddity }
  /** Only pings, until the router disconnects. */
  | { kind: 'pings' }
  /** 200 with an empty body. */
  | { kind: 'empty' }
  /** A well-formed response without content. */
  | { kind: 'blank' }
  /** Waits `ms` before every message. */
  | { kind: 'slow'; ms: number }
  /** Closes the connection with a TCP reset. */
  | { kind: 'reset'; after?: number }
  /** Stops sending and keeps the connection open. */
  | { kind: 'stall'; after?: number }
  /** Ends the HTTP response regularly, but without the finish event. */
  | { kind: 'truncate'; after?: number }
  /** Sends invalid JSON. */
  | { kind: 'malformed'; after?: number }
  /** Sends the protocol's error event in mid-stream. */
  | { kind: 'error'; after?: number };

const CUTS = ['reset', 'stall', 'truncate', 'malformed', 'error'] as const;
const PLAIN = ['redirect', 'empty', 'blank', 'pings'] as const;

const parseNamed = (kind: string, name: string): Fault | undefined => {
  if (kind === 'body' && isOddBody(name)) return { kind, as: name };
  if (kind === 'bytes' && isOddBytes(name)) return { kind, as: name };
  if (kind === 'stream' && isStreamOddity(name)) return { kind, as: name };
  return undefined;
};

const parseCounted = (kind: string, count: number, retryAfter: string | undefined) => {
  const cut = CUTS.find((name) => name === kind);
  if (cut) return { kind: cut, after: count };
  if (kind === 'slow') return { kind, ms: count } as const;
  if (kind !== 'status') return undefined;
  return { kind, status: count, ...(retryAfter === undefined ? {} : { retryAfter }) } as const;
};

/**
 * Parses a fault as model names and prompts spell it: `status=503`, `status=429:7` (with
 * `retry-after: 7`), `slow=200`, `reset`, `reset=3`, `body=html`, `stream=crlf` … Returns undefined
 * for any other text.
 */
export const parseFault = (text: string): Fault | undefined => {
  const [kind = '', value, ...rest] = text.split('=');
  if (rest.length > 0) return undefined;
  if (value === undefined) {
    const match = [...CUTS, ...PLAIN].find((name) => name === kind);
    return match && { kind: match };
  }
  const { count, retryAfter } =
    /^(?<count>\d{1,6})(?::(?<retryAfter>\S{1,40}))?$/.exec(value)?.groups ?? {};
  return count === undefined
    ? parseNamed(kind, value)
    : parseCounted(kind, Number(count), retryAfter);
};

/** Fault at the end of a model name, after `!`, e.g. `scribe-1!status=503`. */
export const faultOfModel = (model: string): Fault | undefined =>
  parseFault(/!(?<fault>[^\s!]+)$/.exec(model)?.groups?.fault ?? '');
