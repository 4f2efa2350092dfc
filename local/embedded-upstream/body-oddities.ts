import { gzipSync } from 'node:zlib';

/** A 200 with an unexpected body. */
export type OddBody = { headers: Record<string, string>; body: string | Uint8Array };

const JSON_TYPE = { 'content-type': 'application/json' };
const SSE_TYPE = { 'content-type': 'text/event-stream' };

const json = (body: string): OddBody => ({ headers: JSON_TYPE, body });

/** Above any plausible limit for a whole response. */
const HUGE_BYTES = 17_000_000;
const BOMB_BYTES = 50_000_000;
/** Kept for later ones: it takes a fifth of a second. */
let bomb: Uint8Array | undefined;
/** Above the 16 KB of headers that the router accepts. */
const HUGE_HEADER_BYTES = 20_000;

/** Built on demand: the large ones cost time and memory. */
export const ODD_BODIES = {
  html: () => ({
    headers: { 'content-type': 'text/html' },
    body: '<!doctype html><title>Bad gateway</title><h1>Bad gateway</h1>',
  }),
  text: () => ({ headers: { 'content-type': 'text/plain' }, body: 'Hello!' }),
  untyped: () => ({ headers: {}, body: '{}' }),
  'broken-json': () => json('{"choices":[{"message":{"content":"Hel'),
  null: () => json('null'),
  array: () => json('[]'),
  nothing: () => json(''),
  'wrong-shape': () => json('{"hello":"world","choices":"none","content":7}'),
  nulls: () => json('{"choices":null,"content":null,"usage":null,"stop_reason":null}'),
  'no-choices': () => json('{"choices":[],"content":[]}'),
  'error-object': () => json('{"type":"error","error":{"type":"overloaded","message":"canary"}}'),
  huge: () => json(`{"padding":"${'x'.repeat(HUGE_BYTES)}"}`),
  gzip: () => ({
    headers: { ...SSE_TYPE, 'content-encoding': 'gzip' },
    body: gzipSync('data: {}'),
  }),
  'cut-gzip': () => ({
    headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
    body: gzipSync('{"choices":[]}').subarray(0, 12),
  }),
  bomb: () => {
    bomb ??= gzipSync(Buffer.alloc(BOMB_BYTES));
    return { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: bomb };
  },
  'huge-headers': () => ({
    headers: { ...SSE_TYPE, 'x-padding': 'x'.repeat(HUGE_HEADER_BYTES) },
    body: '',
  }),
} satisfies Record<string, () => OddBody>;

/** Bytes on the socket instead of an HTTP response. */
export const ODD_BYTES = {
  garbage: 'SSH-2.0-OpenSSH_9.2\r\n\r\n',
  'no-status': 'HTTP/1.1 \r\n\r\n',
  'broken-header': 'HTTP/1.1 200 OK\r\ncontent-type text/event-stream\r\n\r\n',
  'header-injection': 'HTTP/1.1 200 OK\r\nx-a: b\r\n c\r\n\0: d\r\n\r\n',
  'short-body':
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"choices"',
  'half-headers': 'HTTP/1.1 200 OK\r\ncontent-type: text/ev',
  'two-lengths': 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 5\r\n\r\n{} ',
  'broken-chunk':
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n',
} as const;

export type OddBodyName = keyof typeof ODD_BODIES;
export type OddBytesName = keyof typeof ODD_BYTES;
