import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as z from 'zod/mini';
import type { Model, Target } from './parse-models.ts';
import { hashOf, type TokenizerHead } from './tokenizer.ts';

/** A vocabulary as an operator's file has it: tokens in the order of their ranks. */
type Vocabulary = Pick<TokenizerHead, 'patterns' | 'isComposed'> & { tokens: Uint8Array[] };

// --- tiktoken's files of ranks ---

const CL100K =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const O200K_END = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";
const O200K = [
  `[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+${O200K_END}`,
  `[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*${O200K_END}`,
  '\\p{N}{1,3}',
  ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*',
  '\\s*[\\r\\n]+',
  '\\s+(?!\\S)',
  '\\s+',
].join('|');
/** A file of ranks does not contain its pattern: vocabularies of this size have o200k's. */
const O200K_SIZE = 150_000;

/** Lines of a token in base64 and its rank. */
const readRanks = (text: string): Vocabulary => {
  const tokens = text
    .trim()
    .split('\n')
    .map((line) => {
      const [token = '', rank = ''] = line.trim().split(' ');
      if (token === '' || !/^\d+$/.test(rank))
        throw new Error(`not a rank: '${line.slice(0, 40)}'`);
      return { bytes: Buffer.from(token, 'base64'), rank: Number(rank) };
    })
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ bytes }) => bytes);
  return { patterns: [tokens.length > O200K_SIZE ? O200K : CL100K], isComposed: false, tokens };
};

// --- tokenizer.json of Hugging Face ---

const PreTokenizer = z.looseObject({
  type: z.string(),
  pattern: z.optional(z.object({ Regex: z.optional(z.string()), String: z.optional(z.string()) })),
  behavior: z.optional(z.string()),
  invert: z.optional(z.boolean()),
  use_regex: z.optional(z.boolean()),
  individual_digits: z.optional(z.boolean()),
});
type PreTokenizer = z.infer<typeof PreTokenizer>;

const TokenizerJson = z.looseObject({
  normalizer: z.nullish(
    z.looseObject({
      type: z.string(),
      normalizers: z.optional(z.array(z.looseObject({ type: z.string() }))),
    }),
  ),
  pre_tokenizer: z.nullish(
    z.looseObject({ type: z.string(), pretokenizers: z.optional(z.array(PreTokenizer)) }),
  ),
  model: z.looseObject({
    type: z.nullish(z.string()),
    byte_fallback: z.optional(z.boolean()),
    ignore_merges: z.optional(z.boolean()),
    vocab: z.record(z.string(), z.number()),
    merges: z.array(z.union([z.string(), z.array(z.string())])),
  }),
});

const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

const escapeText = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

const patternOf = (step: PreTokenizer): string[] => {
  const { type, pattern, behavior, invert, use_regex: usesRegex, individual_digits: single } = step;
  if (type === 'ByteLevel') return usesRegex === false ? [] : [GPT2];
  if (type === 'Digits') return [single ? '\\p{N}' : '\\p{N}+'];
  const regex = pattern?.Regex ?? escapeText(pattern?.String ?? '');
  // To remove what does not match leaves the matches: the patterns of those that do match all text.
  const isolates = invert === true ? behavior === 'Removed' : behavior === 'Isolated';
  if (type === 'Split' && isolates && regex !== '') return [regex];
  throw new Error(`its pre-tokenizer ${type} (${behavior ?? 'plain'}) is not supported`);
};

/** Byte-level vocabularies write each byte as a printable character: itself, or one from U+0100 on. */
const createByteOf = (): Map<string, number> => {
  const isPrintable = (byte: number) =>
    (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad && byte <= 0xff);
  let next = 0x100;
  return new Map(
    Array.from({ length: 256 }, (_, byte) => {
      const code = isPrintable(byte) ? byte : next;
      if (code === next) next += 1;
      return [String.fromCharCode(code), byte] as const;
    }),
  );
};

const readTokenizerJson = (text: string): Vocabulary => {
  const { normalizer, pre_tokenizer: first, model } = TokenizerJson.parse(JSON.parse(text));
  if ((model.type ?? 'BPE') !== 'BPE' || model.byte_fallback === true) {
    throw new Error('only byte-level BPE is supported, not SentencePiece or another model');
  }
  const forms =
    normalizer?.type === 'Sequence' ? normalizer.normalizers : normalizer && [normalizer];
  const unknown = forms?.find(({ type }) => type !== 'NFC');
  if (unknown) throw new Error(`its normalizer ${unknown.type} is not supported`);
  const steps = first ? (first.pretokenizers ?? [PreTokenizer.parse(first)]) : [];
  if (!steps.some(({ type }) => type === 'ByteLevel')) {
    throw new Error('only byte-level BPE is supported: it has no pre-tokenizer ByteLevel');
  }
  const byteOf = createByteOf();
  const bytesOf = (token: string): Uint8Array =>
    Uint8Array.from(token, (character) => {
      const byte = byteOf.get(character);
      if (byte === undefined) throw new Error(`its token '${token}' is not of bytes`);
      return byte;
    });
  const merged = model.merges.map((pair) =>
    typeof pair === 'string' ? pair.replace(' ', '') : pair.join(''),
  );
  // A token that no merge makes is never counted, unless whole pieces are looked up first.
  const whole = model.ignore_merges === true ? Object.keys(model.vocab) : [];
  const isBytes = (token: string) => [...token].every((character) => byteOf.has(character));
  const names = [...new Set([...byteOf.keys(), ...merged, ...whole.filter(isBytes)])];
  return {
    patterns: steps.flatMap(patternOf),
    isComposed: forms?.some(({ type }) => type === 'NFC') ?? false,
    tokens: names.map(bytesOf),
  };
};

// --- the flat file ---

/** Other engines' `\s` is Unicode's white space; a quantifier has no possessive form here. */
const toJavaScript = (pattern: string): string =>
  pattern
    .replaceAll('\\s', '\\p{White_Space}')
    .replaceAll('\\S', '\\P{White_Space}')
    .replaceAll(/([?*+]|\{\d{1,4}(?:,\d{0,4})?\})\+/g, '$1');

const tableOf = (tokens: Uint8Array[], slots: number): Uint32Array => {
  const table = new Uint32Array(slots);
  for (const [rank, bytes] of tokens.entries()) {
    let slot = hashOf(bytes, 0, bytes.length) & (slots - 1);
    while (table[slot] !== 0) slot = (slot + 1) & (slots - 1);
    table[slot] = rank + 1;
  }
  return table;
};

/**
 * Turns an operator's vocabulary, a `tokenizer.json` or a file of ranks, into the flat file that a router reads
 * without parsing (tokenizer.ts). @throws Error that states what is not supported
 */
const flattenTokenizer = (text: string): Uint8Array => {
  const { tokens, patterns, isComposed } = text.trimStart().startsWith('{')
    ? readTokenizerJson(text)
    : readRanks(text);
  const written = patterns.map(toJavaScript);
  for (const pattern of written) new RegExp(pattern, 'gu');
  const slots = 2 ** Math.ceil(Math.log2(tokens.length * 1.5));
  const head: TokenizerHead = { patterns: written, isComposed, tokens: tokens.length, slots };
  const json = Buffer.from(JSON.stringify(head));
  // The tables are read as 32-bit numbers, which begin at multiples of four.
  const padded = Buffer.concat([json, Buffer.alloc((4 - (json.length % 4)) % 4, ' ')]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(padded.length);
  const offsets = new Uint32Array(tokens.length + 1);
  for (const [index, { length: size }] of tokens.entries()) {
    offsets[index + 1] = (offsets[index] ?? 0) + size;
  }
  const bytesOf = ({ buffer }: Uint32Array) => Buffer.from(buffer as ArrayBuffer);
  return Buffer.concat([
    length,
    padded,
    bytesOf(tableOf(tokens, slots)),
    bytesOf(offsets),
    ...tokens,
  ]);
};

/** Names of flat files have a digest of the path, so that two tokenizers never share one. */
const nameOf = (path: string): string => `tokenizer-${hash('sha256', path).slice(0, 12)}.bin`;

/**
 * The flat files of all tokenizers that a catalog names, by their names, and the catalog with those names.
 * @throws Error with the path of a file that cannot be read, or is not supported
 */
export const flattenTokenizers = (
  models: Model[],
  folder: string,
): { models: Model[]; files: Map<string, Uint8Array> } => {
  const files = new Map<string, Uint8Array>();
  const flatten = (path: string): string => {
    const name = nameOf(path);
    try {
      if (!files.has(name))
        files.set(name, flattenTokenizer(readFileSync(resolve(folder, path), 'utf8')));
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`The tokenizer ${path} cannot be used: ${reason}.`, { cause });
    }
    return name;
  };
  const withFlat = ({ counting, ...target }: Target): Target =>
    counting?.tokenizer === undefined
      ? { ...target, counting }
      : { ...target, counting: { ...counting, tokenizer: flatten(counting.tokenizer) } };
  return {
    models: models.map((model) => ({ ...model, targets: model.targets.map(withFlat) })),
    files,
  };
};
