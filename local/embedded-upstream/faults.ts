import type { ResponseMeta } from '../../lambdas/protocols/generation.ts';
import { formatSse } from '../../lambdas/protocols/streams/sse.ts';
import { apiError } from '../../lambdas/support/errors.ts';
import { ODD_BODIES, ODD_BYTES, type OddBodyName, type OddBytesName } from './body-oddities.ts';
import type { ResponseWriter } from './response-writer.ts';
import { STREAM_ODDITIES, type StreamOddity } from './stream-oddities.ts';
import type { Wire } from './wires.ts';

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
  /** Only pings until the router disconnects; 200 with an empty body; a well-formed response without content. */
  | { kind: 'pings' | 'empty' | 'blank' }
  /** Waits `ms` before every message. */
  | { kind: 'slow'; ms: number }
  /**
   * Closes the connection with a TCP reset; stops sending and keeps it open; ends the HTTP response regularly, but without the
   * finish event; sends invalid JSON; sends the protocol's error event in mid-stream.
   */
  | { kind: 'reset' | 'stall' | 'truncate' | 'malformed' | 'error'; after?: number };

type Of<K extends Fault['kind']> = Extract<Fault, { kind: K }>;

type Planned = {
  protocol: Wire['protocol'];
  meta: ResponseMeta;
  failureText: string;
};

/** What a fault does to a response. */
type Rule<F extends Fault> = {
  /** Reads what follows `=`, and the digits in it; undefined is not valid. */
  parse(text: string | undefined, count: number, retryAfter?: string): Omit<F, 'kind'> | undefined;
  /** Sends all of the response in place of the planned one. */
  replace?(writer: ResponseWriter, fault: F, planned: Planned): unknown;
  /** Messages, of `total`, that are sent before the fault. */
  cutAt?(fault: F, total: number): number;
  /** Ends a partly sent response. */
  end?(writer: ResponseWriter, planned: Planned): unknown;
};

const SSE = { 'content-type': 'text/event-stream' };
const NOT_JSON = '{"choices":[{"delta":';
const PING_MS = 20;

const plain = (text: string | undefined) => (text === undefined ? {} : undefined);
const counted = <F extends object>(fault: F, count: number): F | undefined =>
  Number.isNaN(count) ? undefined : fault;
const named =
  <Name extends string>(rows: Record<Name, unknown>) =>
  (text = ''): { as: Name } | undefined =>
    Object.hasOwn(rows, text) ? { as: text as Name } : undefined;

/** A fault in mid-stream. */
const CUT = {
  parse: (text, after) => plain(text) ?? counted({ after }, after),
  cutAt: ({ after = 0 }) => after,
} satisfies Partial<Rule<Of<'reset'>>>;

const RULES: { [K in Fault['kind']]: Rule<Of<K>> } = {
  status: {
    parse: (_, status, retryAfter) =>
      counted({ status, ...(retryAfter !== undefined && { retryAfter }) }, status),
    replace: (writer, { status, retryAfter }, { protocol, meta, failureText }) => {
      const retry = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
      writer.head(status, { 'content-type': 'application/json', ...retry });
      const error = apiError(failureText, { status });
      writer.end(JSON.stringify(protocol.encodeError(error, meta.id)));
    },
  },
  redirect: {
    parse: plain,
    replace: (writer, { status = 307, location = '/elsewhere' }) => {
      writer.head(status, { location });
      writer.end();
    },
  },
  body: {
    parse: named(ODD_BODIES),
    replace: (writer, { as }) => {
      const { headers, body } = ODD_BODIES[as]();
      writer.head(200, headers);
      writer.end(body);
    },
  },
  bytes: { parse: named(ODD_BYTES), replace: (writer, { as }) => writer.endRaw(ODD_BYTES[as]) },
  stream: { parse: named(STREAM_ODDITIES) },
  pings: {
    parse: plain,
    replace: async (writer) => {
      writer.head(200, SSE);
      while (!writer.closed) {
        await writer.write(': ping\n\n');
        await writer.wait(PING_MS);
      }
    },
  },
  empty: {
    parse: plain,
    replace: (writer) => {
      writer.head(200, SSE);
      writer.end();
    },
  },
  blank: { parse: plain },
  slow: { parse: (_, ms) => counted({ ms }, ms) },
  reset: { ...CUT, end: (writer) => writer.reset() },
  stall: { ...CUT, end: (writer) => writer.hang() },
  truncate: { ...CUT, cutAt: ({ after }, total) => after ?? total },
  malformed: { ...CUT, end: (writer) => writer.end(formatSse({ data: NOT_JSON })) },
  error: {
    ...CUT,
    end: (writer, { protocol, meta, failureText }) => {
      const messages = protocol.encodeStreamError(apiError(failureText), meta.id, meta, '');
      writer.end(messages.map(formatSse).join(''));
    },
  },
};

const ruleOf = (fault: Fault): Rule<Fault> => RULES[fault.kind] as Rule<Fault>;

/** Sends the response of a fault that strikes before the headers. Returns false for any other. */
export const sendFault = async (
  fault: Fault | undefined,
  writer: ResponseWriter,
  planned: Planned,
): Promise<boolean> => {
  if (!fault) return false;
  const { replace, end } = ruleOf(fault);
  const isAtOnce = (fault.kind === 'reset' || fault.kind === 'stall') && fault.after === undefined;
  if (isAtOnce) await end?.(writer, planned);
  await replace?.(writer, fault, planned);
  return isAtOnce || replace !== undefined;
};

/** Number of messages, of `total`, that are sent before the fault; undefined if it sends them all. */
export const breakOffIndex = (fault: Fault | undefined, total: number): number | undefined =>
  fault && ruleOf(fault).cutAt?.(fault, total);

/** Ends a partly sent response as the fault requires. */
export const breakOff = async (
  fault: Fault | undefined,
  writer: ResponseWriter,
  planned: Planned,
): Promise<void> => {
  const end = fault && ruleOf(fault).end;
  await (end ? end(writer, planned) : writer.end());
};

/**
 * Parses a fault as model names and prompts spell it: `status=503`, `status=429:7` (with
 * `retry-after: 7`), `slow=200`, `reset`, `reset=3`, `body=html`, `stream=crlf` … Returns undefined
 * for any other text.
 */
export const parseFault = (text: string): Fault | undefined => {
  const [kind = '', value, ...rest] = text.split('=');
  if (rest.length > 0 || !Object.hasOwn(RULES, kind)) return undefined;
  const [, count, retryAfter] = /^(\d{1,6})(?::(\S{1,40}))?$/.exec(value ?? '') ?? [];
  const parsed = RULES[kind as Fault['kind']].parse(value, Number(count), retryAfter);
  return parsed && ({ kind, ...parsed } as Fault);
};

/** Fault at the end of a model name, after `!`, e.g. `scribe-1!status=503`. */
export const faultOfModel = (model: string): Fault | undefined =>
  parseFault(/!(?<fault>[^\s!]+)$/.exec(model)?.groups?.fault ?? '');
