/**
 * How an upstream can misbehave. `after` counts the SSE messages sent first (for an answer in one piece
 * any number means half of its text); without it the fault strikes before the headers.
 */
export type Fault =
  | { kind: 'status'; status: number; retryAfter?: string }
  /** Answers 307 to another path of the same server. */
  | { kind: 'redirect' }
  /** 200 with a web page. */
  | { kind: 'html' }
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
const PLAIN = ['redirect', 'html', 'empty', 'blank'] as const;

/**
 * A fault in one word, as model names and prompts spell it: `status=503`, `status=429:7` (with
 * `retry-after: 7`), `slow=200`, `reset`, `reset=3`, `html` …; undefined when it is none.
 */
export const parseFault = (text: string): Fault | undefined => {
  const match = /^(?<kind>[a-z]+)(?:=(?<count>\d{1,6})(?::(?<retryAfter>\d{1,6}))?)?$/.exec(text);
  const { kind, count, retryAfter } = match?.groups ?? {};
  const cut = CUTS.find((name) => name === kind);
  if (cut) return { kind: cut, ...(count === undefined ? {} : { after: Number(count) }) };
  const plain = PLAIN.find((name) => name === kind);
  if (plain) return { kind: plain };
  if (count === undefined) return undefined;
  if (kind === 'slow') return { kind, ms: Number(count) };
  if (kind !== 'status') return undefined;
  return { kind, status: Number(count), ...(retryAfter === undefined ? {} : { retryAfter }) };
};

/** A model name may carry a fault after `!`, e.g. `scribe-1!status=503`. */
export const faultOfModel = (model: string): Fault | undefined =>
  parseFault(/!(?<fault>\S+)$/.exec(model)?.groups?.fault ?? '');
