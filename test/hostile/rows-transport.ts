import { gzipSync, zstdCompressSync } from 'node:zlib';
import { bodyOf, headers, MESSAGES, type On, POSTS, type Row, raw } from './draft.ts';

const type = (name: string, status: number, value: string): Row =>
  headers(name, POSTS, status, () => ({ 'content-type': value }));

const version = (name: string, on: On[], status: number, value: string): Row =>
  headers(name, on, status, () => ({ 'anthropic-version': value }));

const bytes = (...values: number[]) => Uint8Array.from(values);

const packed = (
  name: string,
  status: number,
  encode: (text: string) => Uint8Array,
  coding = 'gzip',
): Row => ({
  name,
  on: POSTS,
  status,
  change: (draft) => ({
    headers: { ...draft.headers, 'content-encoding': coding },
    body: encode(String(draft.body)),
  }),
});

/** More than a body may hold, of what a body may hold. */
const PADDING = JSON.stringify({ ...bodyOf('messages'), padding: 'x'.repeat(5_500_000) });

const BOMB = gzipSync(Buffer.alloc(20_000_000));
const ZSTD_BOMB = zstdCompressSync(Buffer.alloc(20_000_000));

export const TRANSPORT_ROWS: Row[] = [
  {
    name: '58 no content type',
    on: POSTS,
    status: 200,
    change: ({ headers: { authorization = '' } }) => ({ headers: { authorization } }),
  },
  type('59 text', 415, 'text/plain'),
  type('59 XML', 415, 'application/xml'),
  type('60 a charset', 200, 'application/json; charset=utf-8'),
  type('61 another charset', 415, 'application/json; charset=utf-16'),
  type('62 other letters', 200, 'application/JSON'),
  type('63 a form', 415, 'multipart/form-data; boundary=x'),
  raw('64 an empty body', POSTS, 400, ''),
  raw('65 white space', POSTS, 400, ' \n\t '),
  packed('68 gzip', 200, (text) => gzipSync(text)),
  packed('68 gzip that is cut off', 400, (text) => gzipSync(text).subarray(0, 20)),
  packed('68 gzip that is none', 400, (text) => Buffer.from(text)),
  packed('69 a gzip bomb', 413, () => BOMB),
  packed('68 zstd', 200, (text) => zstdCompressSync(text), 'zstd'),
  packed('68 zstd that is cut off', 400, (text) => zstdCompressSync(text).subarray(0, 20), 'zstd'),
  packed('69 a zstd bomb', 413, () => ZSTD_BOMB, 'zstd'),
  headers('68 an encoding that is not known', POSTS, 415, () => ({ 'content-encoding': 'br' })),
  raw('70 invalid UTF-8', POSTS, 400, bytes(0x7b, 0x22, 0xff, 0x22, 0x7d)),
  raw('71 an overlong slash', POSTS, 400, bytes(0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x7d)),
  raw('71 a surrogate in UTF-8', POSTS, 400, bytes(0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d)),
  {
    name: '72 a byte order mark',
    on: POSTS,
    status: 200,
    change: ({ body }) => ({ body: `\uFEFF${String(body)}` }),
  },
  raw('73 UTF-16', POSTS, 400, Buffer.from('{"model":"x"}', 'utf16le')),
  raw('74 over 5.5 MB', POSTS, 413, PADDING),
  headers('85 a request id of the caller', POSTS, 200, () => ({
    'x-request-id': 'x'.repeat(9_000),
  })),
  version('86 a date', MESSAGES, 200, '2023-06-01'),
  version('86 a newer date', MESSAGES, 200, '2026-10-21'),
  version('86 no date', MESSAGES, 400, 'latest'),
  version('86 nothing', MESSAGES, 400, ''),
  version('86 no date where it means nothing', ['chat'], 200, 'latest'),
  headers('87 betas nobody knows', POSTS, 200, () => ({ 'anthropic-beta': 'none-2030-01-01' })),
  headers('88 for HTML', POSTS, 200, () => ({ accept: 'text/html' })),
  headers('a forwarded host', POSTS, 200, () => ({ 'x-forwarded-host': 'evil.example' })),
  headers('a method override', POSTS, 200, () => ({ 'x-http-method-override': 'DELETE' })),
];
