/** Counts the tokens of texts with a vocabulary of the operator. */
export type Tokenizer = { count(text: string): number };

/** What precedes the tables of a flat file (flatten-tokenizer.ts), as JSON. */
export type TokenizerHead = {
  /** Cut a text into pieces, one after the other; what is between two matches is a piece too. */
  patterns: string[];
  /** Unicode's composed form comes first. */
  isComposed: boolean;
  tokens: number;
  /** Slots of the table that finds a token by its bytes; a power of two. */
  slots: number;
};

/** Longer pieces are cut, so that merging stays linear; no word is that long. */
const MAX_PIECE = 256;
/** Words repeat: their counts are kept. */
const MAX_KEPT_LENGTH = 16;
const MAX_KEPT = 50_000;
const NONE = 0x7fffffff;

/** FNV-1a, mixed. */
export const hashOf = (bytes: Uint8Array, from: number, to: number): number => {
  let hash = 0x811c9dc5;
  for (let index = from; index < to; index += 1) {
    hash = Math.imul(hash ^ (bytes[index] ?? 0), 0x01000193);
  }
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
};

type Tables = {
  slots: Uint32Array;
  offsets: Uint32Array;
  bytes: Uint8Array;
  /** Of the piece that is merged: where each part begins, and the rank of each part joined with the next one. */
  starts: Int32Array;
  ranks: Int32Array;
};

/** Returns the rank of the token with these bytes, by open addressing; `NONE` if there is no such token. */
const rankIn = (
  { slots, offsets, bytes: known }: Tables,
  bytes: Uint8Array,
  from: number,
  to: number,
): number => {
  const mask = slots.length - 1;
  for (let slot = hashOf(bytes, from, to) & mask; ; slot = (slot + 1) & mask) {
    const entry = slots[slot] ?? 0;
    if (entry === 0) return NONE;
    const start = offsets[entry - 1] ?? 0;
    if ((offsets[entry] ?? 0) - start !== to - from) continue;
    let same = 0;
    while (same < to - from && known[start + same] === bytes[from + same]) same += 1;
    if (same === to - from) return entry - 1;
  }
};

/** Joins the neighbours whose joined bytes have the lowest rank, until none is a token; counts what is left. */
const countMerged = (tables: Tables, bytes: Uint8Array, from: number, to: number): number => {
  if (to - from < 2 || rankIn(tables, bytes, from, to) !== NONE) return 1;
  const { starts, ranks } = tables;
  let parts = to - from;
  const setRank = (index: number): void => {
    const end = starts[index + 2] ?? 0;
    ranks[index] = index + 1 < parts ? rankIn(tables, bytes, starts[index] ?? 0, end) : NONE;
  };
  for (let index = 0; index <= parts; index += 1) starts[index] = from + index;
  for (let index = 0; index < parts; index += 1) setRank(index);
  for (;;) {
    let best = 0;
    let lowest = NONE;
    for (let index = 0; index < parts; index += 1) {
      const rank = ranks[index] ?? NONE;
      if (rank < lowest) {
        lowest = rank;
        best = index;
      }
    }
    if (lowest === NONE) return parts;
    starts.copyWithin(best + 1, best + 2, parts + 1);
    ranks.copyWithin(best + 1, best + 2, parts);
    parts -= 1;
    setRank(best);
    if (best > 0) setRank(best - 1);
  }
};

/** Cuts each piece at the matches of a pattern. */
const cut = (pieces: string[], pattern: RegExp): string[] =>
  pieces.flatMap((piece) => {
    const found: string[] = [];
    let end = 0;
    for (const { 0: match, index } of piece.matchAll(pattern)) {
      if (index > end) found.push(piece.slice(end, index));
      if (match !== '') found.push(match);
      end = index + match.length;
    }
    if (end < piece.length) found.push(piece.slice(end));
    return found;
  });

/** No language has so many marks in a row, and composing them takes quadratic time. Sought once in each run of marks. */
const MARKS = /(?<!\p{M})\p{M}{64}/u;

/** Opens a flat file without parsing it: its tables are views of its bytes. */
const openTokenizer = (file: Uint8Array): Tokenizer => {
  const { buffer } = file;
  const headLength = new DataView(buffer).getUint32(0, true);
  const head: TokenizerHead = JSON.parse(
    new TextDecoder().decode(file.subarray(4, 4 + headLength)),
  );
  const slotsAt = 4 + headLength;
  const offsetsAt = slotsAt + head.slots * 4;
  const bytesAt = offsetsAt + (head.tokens + 1) * 4;
  const tables: Tables = {
    slots: new Uint32Array(buffer, slotsAt, head.slots),
    offsets: new Uint32Array(buffer, offsetsAt, head.tokens + 1),
    bytes: new Uint8Array(buffer, bytesAt),
    starts: new Int32Array(MAX_PIECE + 1),
    ranks: new Int32Array(MAX_PIECE),
  };
  const patterns = head.patterns.map((pattern) => new RegExp(pattern, 'gu'));
  const kept = new Map<string, number>();

  const countPiece = (piece: string): number => {
    const known = kept.get(piece);
    if (known !== undefined) return known;
    const bytes = Buffer.from(piece);
    let count = 0;
    for (let from = 0; from < bytes.length; from += MAX_PIECE) {
      count += countMerged(tables, bytes, from, Math.min(bytes.length, from + MAX_PIECE));
    }
    if (piece.length < MAX_KEPT_LENGTH && kept.size < MAX_KEPT) {
      // Of its bytes: a slice of the text would keep the whole prompt.
      kept.set(bytes.toString(), count);
    }
    return count;
  };

  return {
    count: (text) =>
      patterns
        .reduce(cut, [head.isComposed && !MARKS.test(text) ? text.normalize('NFC') : text])
        .reduce((sum, piece) => sum + countPiece(piece), 0),
  };
};

/** Returns the tokenizer of a name in the catalog; each is read once, at its first use. */
export type Tokenizers = (name: string) => Tokenizer;

export const createTokenizers = (read: (name: string) => Uint8Array): Tokenizers => {
  const open = new Map<string, Tokenizer>();
  return (name) => {
    // Copied, so that the tables are aligned in a buffer that has nothing else.
    const tokenizer = open.get(name) ?? openTokenizer(new Uint8Array(read(name)));
    open.set(name, tokenizer);
    return tokenizer;
  };
};
