import { FIRST_EVENT_MS } from '../support/fault-bench.ts';
import type { Wire } from '../support/wires.ts';

/** What becomes of an answer whose only target has the fault. */
export type Expected =
  /** The caller gets the answer, as many times as it is sent. */
  | { kind: 'answered'; times?: number }
  /** It ended properly without content: another target takes over; without one the caller gets it, free. */
  | { kind: 'empty' }
  /** Nothing usable came: another target takes over; without one the caller gets this status. */
  | { kind: 'failed'; status: number; type?: string; headers?: Record<string, string> }
  /** It is the request's own: no other target is asked. */
  | { kind: 'refused'; status: number; type: string; doNotRetry?: true }
  /** It broke off after its first content: an error event, or 502 for a whole answer. */
  | { kind: 'broken'; status?: number };

export type Row = {
  fault: string;
  expected: Expected;
  /** What differs for streams of a protocol. */
  on?: Partial<Record<Wire, Expected>>;
  /** What differs for a stream that callers of its protocol get as it is, if the vendor's clients would misread it. */
  relayed?: Expected;
  waits?: number[];
  at?: (url: string) => string;
};

const answered: Expected = { kind: 'answered' };
const broken: Expected = { kind: 'broken' };
const failed = (status: number, headers: Record<string, string> = {}) => ({
  kind: 'failed' as const,
  status,
  headers,
});
/** The caller gets it as its own, unless another target answers. */
const rejected: Expected = {
  ...failed(400, { 'x-should-retry': 'false' }),
  type: 'invalid_request_error',
};

const rows = (expected: Expected, faults: string[]): Row[] =>
  faults.map((fault) => ({ fault, expected }));

const named = (kind: string, names: string[]): string[] => names.map((name) => `${kind}=${name}`);

const IDLE_MS = 60_000;

const wait = (seconds: string) => failed(503, { 'retry-after': seconds });
/** A retry would fail alike. */
const lasting = failed(502, { 'x-should-retry': 'false' });
const forOperator = failed(500, { 'x-should-retry': 'false' });

/** Every way in which an upstream fails, and what becomes of it. */
export const ROWS: Row[] = [
  { fault: 'none', expected: answered },
  { fault: 'blank', expected: { kind: 'empty' } },
  { fault: 'refuses', expected: failed(502), at: () => 'http://127.0.0.1:1' },
  { fault: 'no-tls', expected: failed(502), at: (url) => url.replace('http:', 'https:') },
  { fault: 'unknown-host', expected: failed(502), at: () => 'http://upstream.invalid' },
  { fault: 'stall', expected: failed(504), waits: [FIRST_EVENT_MS] },
  { fault: 'stall=0', expected: failed(504), waits: [FIRST_EVENT_MS] },
  { fault: 'pings', expected: failed(504), waits: [FIRST_EVENT_MS] },
  { fault: 'stall=5', expected: { kind: 'broken', status: 504 }, waits: [IDLE_MS] },
  ...rows(failed(502), ['reset', 'reset=0', ...named('status', ['405', '408'])]),
  ...rows(failed(502), named('status', ['409', '410', '418', '425', '500', '501', '502', '504'])),
  ...rows(failed(502), named('status', ['520', '599', '204', '304'])),
  ...rows(lasting, ['redirect', ...named('status', ['301', '302', '307', '308', '402', '404'])]),
  ...rows(forOperator, named('status', ['401', '403'])),
  ...rows(wait('10'), named('status', ['429', '503', '529', '429:soon', '429:-1'])),
  ...rows(wait('7'), named('status', ['429:7', '503:7'])),
  ...rows(wait('1'), ['status=429:0']),
  ...rows(wait('60'), ['status=429:999999999']),
  ...rows(failed(502, { 'retry-after': '7' }), ['status=500:7']),
  ...rows(rejected, named('status', ['400', '422'])),
  {
    fault: 'status=413',
    expected: { kind: 'refused', status: 413, type: 'invalid_request_error', doNotRetry: true },
  },
  ...rows(failed(502), ['empty', 'malformed', 'malformed=0', 'error']),
  ...rows(failed(502), ['truncate=0', 'error=0']),
  ...rows(
    failed(502),
    named('body', [
      'html',
      'text',
      'untyped',
      'broken-json',
      'null',
      'array',
      'nothing',
      'wrong-shape',
      'nulls',
      'no-choices',
      'error-object',
      'huge',
      'gzip',
      'cut-gzip',
      'bomb',
      'huge-headers',
    ]),
  ),
  ...rows(
    failed(502),
    named('bytes', [
      'garbage',
      'no-status',
      'broken-header',
      'header-injection',
      'short-body',
      'half-headers',
      'two-lengths',
      'broken-chunk',
    ]),
  ),
  ...rows(
    failed(502),
    named('stream', ['only-comments', 'nulls', 'not-json', 'error-first', 'long-line']),
  ),
  ...rows(
    answered,
    named('stream', [
      'bytes',
      'one-chunk',
      'crlf',
      'cr',
      'bom',
      'fields',
      'comments',
      'news',
      'end-twice',
      'finish-twice',
      'no-usage',
      'negative-usage',
      'huge-usage',
      'no-block-stop',
    ]),
  ),
  // The end of responses holds the whole response. Gemini's end is that of the bytes: a piece may follow the finish reason.
  {
    fault: 'stream=end-first',
    expected: failed(502),
    on: { responses: answered, gemini: answered },
  },
  {
    fault: 'stream=only-end',
    expected: failed(502),
    on: { responses: answered, gemini: { kind: 'empty' } },
  },
  { fault: 'stream=shifted-indices', expected: answered, relayed: failed(502) },
  { fault: 'stream=no-end', expected: answered, on: { responses: broken, gemini: broken } },
  { fault: 'stream=after-end', expected: answered, on: { gemini: { ...answered, times: 2 } } },
  ...rows(broken, ['reset=5', 'truncate', 'truncate=5', 'malformed=5', 'error=5']),
  ...rows(
    broken,
    named('stream', [
      'cut-event',
      'cut-character',
      'json-tail',
      'broken-call',
      'not-json-later',
      'nulls-later',
    ]),
  ),
];
