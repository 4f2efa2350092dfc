import { isOddBody, isOddBytes, type OddBodyName, type OddBytesName } from './body-oddities.ts';
import { isStreamOddity, type StreamOddity } from './stream-oddities.ts';

/**
 * How an upstream can misbehave. `after` counts the SSE messages sent first (for an answer in one piece
 * any number means half of its text); without it the fault strikes before the headers.
 */
export type Fault =
  | { kind: 'status'; status: number; retryAfter?: string }
  /** Answers 307, or the status given, to another address. */
  | { kind: 'redirect'; status?: number; location?: string }
  /** 200 with a body of another kind, see body-oddities.ts. */
  | { kind: 'body'; as: OddBodyName }
  /** Bytes that are no HTTP answer, see body-oddities.ts. */
  | { kind: 'bytes'; as: OddBytesName }
  /** A stream of an unusual or broken kind, see stream-oddities.ts. */
  | { kind: 'stream'; as: StreamOddity }
  /** Signs of life, and nothing else, for as long as the caller listens. */
  | { kind: 'pings' }
  /** 200 with no body at all. */
  | { kind: 'empty' }
  /** A well-formed answer without any content. */
  | { kind: 'blank' }
  /** Waits this long before every message. */
  | { kind: 'slow'; ms: number }
  /** Closes the connection with a TCP reset. */
  | { kind: 'reset'; after?: number }
  /** Says no more and keeps the connection. */
  | { kind: 'stall'; after?: number }
  /** Ends the answer properly, but without its finish. */
  | { kind: 'truncate'; after?: number }
  /** Sends what is not JSON. */
  | { kind: 'malformed'; after?: number }
  /** Sends the protocol's own error event in mid-stream. */
  | { kind: 'error'; after?: number };

const CUTS = ['reset', 'stall', 'truncate', 'malformed', 'error'] as const;
const PLAIN = ['redirect', 'empty', 'blank', 'pings'] as const;

const named = (kind: string, name: string): Fault | undefined => {
  if (kind === 'body' && isOddBody(name)) return { kind, as: name };
  if (kind === 'bytes' && isOddBytes(name)) return { kind, as: name };
  if (kind === 'stream' && isStreamOddity(name)) return { kind, as: name };
  return undefined;
};

const counted = (kind: string, count: number, retryAfter: string | undefined) => {
  const cut = CUTS.find((name) => name === kind);
  if (cut) return { kind: cut, after: count };
  if (kind === 'slow') return { kind, ms: count } as const;
  if (kind !== 'status') return undefined;
  return { kind, status: count, ...(retryAfter === undefined ? {} : { retryAfter }) } as const;
};

/**
 * A fault in one word, as model names and prompts spell it: `status=503`, `status=429:7` (with
 * `retry-after: 7`), `slow=200`, `reset`, `reset=3`, `body=html`, `stream=crlf` …; undefined when it is none.
 */
export const parseFault = (text: string): Fault | undefined => {
  const [kind = '', value, ...rest] = text.split('=');
  if (rest.length > 0) return undefined;
  if (value === undefined) {
    const alone = [...CUTS, ...PLAIN].find((name) => name === kind);
    return alone && { kind: alone };
  }
  const { count, retryAfter } =
    /^(?<count>\d{1,6})(?::(?<retryAfter>\S{1,40}))?$/.exec(value)?.groups ?? {};
  return count === undefined ? named(kind, value) : counted(kind, Number(count), retryAfter);
};

/** A model name may carry a fault after `!`, e.g. `scribe-1!status=503`. */
export const faultOfModel = (model: string): Fault | undefined =>
  parseFault(/!(?<fault>\S+)$/.exec(model)?.groups?.fault ?? '');
