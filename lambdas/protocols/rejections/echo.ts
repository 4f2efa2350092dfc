/** A run of this many letters and digits is an echo: provider texts share shorter ones with many prompts. */
const RUN = 16;
/** A text of several words with fewer is an echo if all of it is quoted. */
const MIN_QUOTED = 7;
/** A shorter text of one word is a name, e.g. of a tool. */
const MIN_WORD = 20;
/** A shorter text is not looked at. */
const MIN_TEXT = 8;

/** Words of 32 bits of the filter that answers nearly every lookup. */
const FILTER_SIZE = 1 << 15;
/** Lookups beyond the filter; a prompt made to cause more of them gets no text at all. 6 ms. */
const MAX_LOOKUPS = 20_000;
const FACTOR = 31;
/** The weight of the unit that leaves the window: 31 to the power of its size, within 32 bits. */
const LEAVING = Array.from({ length: RUN }).reduce<number>((power) => Math.imul(power, FACTOR), 1);

// --- texts as letters and digits ---

const ACCENTED = /^(.)\p{M}+$/su;
/** Halves of rare letters count as letters. */
const LETTER = /[\p{L}\p{N}\p{Mc}\p{Cs}]/u;

/** Stands for every character that is neither letter nor digit. */
const NONE = 1;
/** By code unit; 0 until it is asked for. */
const FOLDED = new Uint16Array(1 << 16);

/** A letter or digit in lower case, without its accent and in one width; else `NONE`. */
const foldedOf = (unit: number): number => {
  const written = String.fromCharCode(unit);
  const plain = ACCENTED.exec(written.normalize('NFKD'))?.[1] ?? written.normalize('NFKC');
  const folded = plain.toUpperCase().toLowerCase();
  return LETTER.test(folded.charAt(0)) ? folded.charCodeAt(0) : NONE;
};

const foldedAt = (text: string, index: number): number => {
  const unit = text.charCodeAt(index);
  const known = FOLDED[unit];
  if (known) return known;
  const folded = foldedOf(unit);
  FOLDED[unit] = folded;
  return folded;
};

/** The letters and digits of a text in any spelling of it, and where each is. */
export const foldText = (text: string): { letters: string; at: number[] } => {
  const at: number[] = [];
  const units: number[] = [];
  for (let index = 0; index < text.length; index += 1) {
    const unit = foldedAt(text, index);
    if (unit === NONE) continue;
    at.push(index);
    units.push(unit);
  }
  return { letters: units.map((unit) => String.fromCharCode(unit)).join(''), at };
};

/** The first run of a text; a shorter one is all that it has. */
const firstRun = (text: string): string => {
  let run = '';
  for (let index = 0; index < text.length && run.length < RUN; index += 1) {
    const unit = foldedAt(text, index);
    if (unit !== NONE) run += String.fromCharCode(unit);
  }
  return run;
};

/** Bytes, characters and marks as JSON, Python, URLs and HTML escape them. */
const ESCAPED =
  /\\u([\da-f]{4})|\\x([\da-f]{2})|((?:%[\da-f]{2})+)|&#(x[\da-f]{1,5}|\d{1,6});|&[a-z]{2,8};|\\(["'\\/])|\\[a-z]/gi;

const characterOf = (code: number): string => (code < 0x11_0000 ? String.fromCodePoint(code) : ' ');

/** The text with its escapes read; those of white space and marks are a space. */
const unescaped = (text: string): string =>
  text.replace(
    ESCAPED,
    (_, unit?: string, byte?: string, bytes?: string, entity?: string, mark = ' ') => {
      if (unit ?? byte) return String.fromCharCode(Number.parseInt(unit ?? byte ?? '', 16));
      if (bytes) return Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8');
      return entity ? characterOf(Number(entity.replace(/^x/i, '0x'))) : mark;
    },
  );

// --- what of a text a request contains ---

/** A text as it is, and with its own escapes read: the arguments of a call are JSON. */
function* formsOf(text: string): Generator<string, void, void> {
  if (text.length < MIN_TEXT) return;
  yield text;
  if (text.includes('\\')) yield unescaped(text);
}

/** Every text in a request that may be quoted, also names of several words: those of protocols and schemas are one. */
function* textsIn(value: unknown): Generator<string, void, void> {
  // A list and no recursion: each text would pass through a generator for each level around it.
  const rest = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next === 'string') {
      yield* formsOf(next);
    } else if (typeof next === 'object' && next !== null) {
      if (!Array.isArray(next)) yield* Object.keys(next).filter((name) => /\s/.test(name));
      for (const member of Object.values(next)) rest.push(member);
    }
  }
}

/** The pieces of a text that are so long, and where each is first. */
export const piecesOf = (letters: string, size: number): Map<string, number> => {
  const places = new Map<string, number>();
  for (let start = letters.length - size; start >= 0; start -= 1) {
    places.set(letters.slice(start, start + size), start);
  }
  return places;
};

const hashOf = (run: string): number => {
  let hash = 0;
  for (let index = 0; index < run.length; index += 1) {
    hash = (Math.imul(hash, FACTOR) + run.charCodeAt(index)) | 0;
  }
  return hash;
};

/** The bit of a hash: the lowest five of its bits in a word by the next fifteen. */
const wordOf = (hash: number): number => (hash >>> 5) & (FILTER_SIZE - 1);

const filterOf = (runs: Iterable<string>): Uint32Array => {
  const filter = new Uint32Array(FILTER_SIZE);
  for (const run of runs) {
    const hash = hashOf(run);
    filter[wordOf(hash)] = (filter[wordOf(hash)] ?? 0) | (1 << (hash & 31));
  }
  return filter;
};

/**
 * Calls `look` with each run that may be one of `filter`, by a rolling hash, until it returns false. Linear in the
 * length of the source.
 */
const scan = (source: string, filter: Uint32Array, look: (run: string) => boolean): void => {
  // The last units, in a ring.
  const units = new Uint16Array(RUN);
  let [hash, size] = [0, 0];
  for (let index = 0; index < source.length; index += 1) {
    const unit = foldedAt(source, index);
    if (unit === NONE) continue;
    const place = size % RUN;
    hash = (Math.imul(hash, FACTOR) + unit - Math.imul(units[place] ?? 0, LEAVING)) | 0;
    units[place] = unit;
    size += 1;
    if (size < RUN || (((filter[wordOf(hash)] ?? 0) >>> (hash & 31)) & 1) === 0) continue;
    const run = String.fromCharCode(
      ...units.subarray(size % RUN),
      ...units.subarray(0, size % RUN),
    );
    if (!look(run)) return;
  }
};

const hasWords = (text: string): boolean => /\S\s+\S/.test(text);

/** Where the first run of a text is that is also in the request; 0 if the request was made to hide that. */
const endOf = (letters: string, request: unknown): number => {
  const [runs, starts] = [piecesOf(letters, RUN), piecesOf(letters, MIN_QUOTED)];
  const filter = filterOf(runs.keys());
  let end = letters.length;
  let lookups = 0;
  const look = (place = letters.length): boolean => {
    lookups += 1;
    end = lookups > MAX_LOOKUPS ? 0 : Math.min(end, place);
    return end > 0;
  };
  for (const source of textsIn(request)) {
    if (end === 0) break;
    if (source.length < MIN_WORD && !hasWords(source)) continue;
    const start = firstRun(source);
    if (start.length === RUN) scan(source, filter, (run) => look(runs.get(run)));
    else if (starts.has(start.slice(0, MIN_QUOTED)) && hasWords(source)) {
      const place = letters.indexOf(start);
      look(place === -1 ? undefined : place);
    }
  }
  return end;
};

const cut = (text: string, request: unknown): string => {
  const { letters, at } = foldText(text);
  return text.slice(0, at[endOf(letters, request)] ?? text.length);
};

/**
 * Returns the text, its escapes read, before its first run of 16 letters and digits that is also in a text of the
 * request, or before the whole of a shorter one of several words: in either case and with any other characters between them.
 */
export const beforeEcho = (text: string, request: unknown): string => {
  const own = cut(text, request);
  const read = unescaped(own).replace(/\s/g, ' ');
  return /[\\%&]/.test(own) ? cut(read, request) : read;
};

/** Without quotation marks and escapes, which nested quotations double. */
export const bare = (text: string): string => text.replace(/["'`\\]/g, '');
