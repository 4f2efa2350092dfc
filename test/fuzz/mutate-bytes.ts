import { fc } from '../support/seeds.ts';

/**
 * One change to a text of bytes. Places are shares of the length, in 65536ths, so that a change means
 * something on any text and still shrinks towards its beginning.
 */
export type ByteMutation =
  | { op: 'flip'; at: number; bit: number }
  | { op: 'insert'; at: number; bytes: Uint8Array }
  | { op: 'overwrite'; at: number; bytes: Uint8Array }
  | { op: 'drop'; at: number; span: number }
  | { op: 'repeat'; at: number; span: number; times: number }
  | { op: 'move'; at: number; span: number; to: number }
  | { op: 'cut'; at: number };

const WHOLE = 65_536;
/** Larger texts only make the run slower: what is quadratic shows at this size. */
const MOST_BYTES = 400_000;

/** What parsers of JSON, SSE, HTTP and UTF-8 have stumbled over. */
const TOKENS = [
  ...['{', '}', '[', ']', ',', ':', '"', '\\', 'null', 'true', '-1', '0', '1e400', '1e-400'],
  ...['9007199254740993', '""', '"\\ud800"', '"\\u0000"', '"__proto__":{"x":1},', '[[[[[[[['],
  ...['\n', '\n\n', '\r', '\r\n', '\r\n\r\n', '\u2028', '\ufeff', '\0', ' ', '\t', ': x\n\n'],
  ...['data: ', 'data: [DONE]\n\n', 'data:\n\n', 'event: error\n', 'id: 1\n', 'retry: 0\n'],
  ...['event: message_stop\ndata: {"type":"message_stop"}\n\n', 'data: {}\n\n', 'data: null\n\n'],
  ...['HTTP/1.1', 'HTTP/1.0', 'content-length: 0\r\n', 'transfer-encoding: chunked\r\n'],
  ...[
    'connection: close\r\n',
    'expect: 100-continue\r\n',
    'host: a\r\n',
    '0\r\n\r\n',
    'ffffffff\r\n',
  ],
  ...['%', '%00', '%2f', '..', '//', '?', '#', ';'],
].map((token) => Uint8Array.from(Buffer.from(token)));

const BROKEN_UTF8 = [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf0, 0x9f], [0x80]].map((bytes) =>
  Uint8Array.from(bytes),
);

const place = fc.nat(WHOLE - 1);
/** Mostly a few bytes, at times a good part of the text. */
const span = fc.oneof(
  { weight: 3, arbitrary: fc.nat(40) },
  { weight: 1, arbitrary: fc.nat(WHOLE / 4) },
);
const fill = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...TOKENS) },
  { weight: 1, arbitrary: fc.constantFrom(...BROKEN_UTF8) },
  { weight: 1, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 8 }) },
);
const op = <const T extends string>(name: T) => fc.constant(name);

export const byteMutation: fc.Arbitrary<ByteMutation> = fc.oneof(
  fc.record({ op: op('insert'), at: place, bytes: fill }),
  fc.record({ op: op('overwrite'), at: place, bytes: fill }),
  fc.record({ op: op('flip'), at: place, bit: fc.nat(7) }),
  fc.record({ op: op('drop'), at: place, span }),
  fc.record({ op: op('move'), at: place, span, to: place }),
  fc.record({ op: op('repeat'), at: place, span, times: fc.oneof(fc.nat(3), fc.nat(20_000)) }),
  fc.record({ op: op('cut'), at: place }),
);

const repeated = (part: Uint8Array, times: number, room: number): Uint8Array[] =>
  part.length === 0
    ? []
    : Array<Uint8Array>(Math.min(times, Math.floor(room / part.length))).fill(part);

const apply = (bytes: Uint8Array, mutation: ByteMutation, most: number): Uint8Array => {
  const at = Math.floor((mutation.at / WHOLE) * bytes.length);
  const before = bytes.subarray(0, at);
  const after = bytes.subarray(at);
  const joined = (...parts: Uint8Array[]) => Buffer.concat(parts);
  switch (mutation.op) {
    case 'flip':
      return joined(
        before,
        Uint8Array.of((after[0] ?? 0) ^ (1 << mutation.bit)),
        after.subarray(1),
      );
    case 'insert':
      return joined(before, mutation.bytes, after);
    case 'overwrite':
      return joined(before, mutation.bytes, after.subarray(mutation.bytes.length));
    case 'drop':
      return joined(before, after.subarray(mutation.span));
    case 'repeat': {
      const part = after.subarray(0, mutation.span);
      return joined(
        before,
        ...repeated(part, mutation.times, Math.max(0, most - bytes.length)),
        after,
      );
    }
    case 'move': {
      const rest = joined(before, after.subarray(mutation.span));
      const to = Math.floor((mutation.to / WHOLE) * rest.length);
      return joined(rest.subarray(0, to), after.subarray(0, mutation.span), rest.subarray(to));
    }
    case 'cut':
      return before;
    default:
      return mutation satisfies never;
  }
};

/** The text after the changes; repetition makes it no longer than `most`. */
export const mutateBytes = (
  bytes: Uint8Array,
  mutations: ByteMutation[],
  most = MOST_BYTES,
): Uint8Array => mutations.reduce((changed, mutation) => apply(changed, mutation, most), bytes);

/** The text in pieces, cut at the given places. */
export const splitBytes = (bytes: Uint8Array, places: number[]): Uint8Array[] => {
  const points = places.map((at) => Math.floor((at / WHOLE) * bytes.length));
  const ends = [...new Set(points)].toSorted((a, b) => a - b);
  return [...ends, bytes.length].map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
};

/** Places for `splitBytes`. */
export const splits = fc.array(place, { maxLength: 4 });
