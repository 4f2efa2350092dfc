/** A run of this many characters is an echo: provider texts share shorter ones with many prompts. */
const RUN = 20;
/** A shorter text is one if it is of several words and quoted whole. */
const MIN_QUOTED = 8;

/** Entries of the filter that answers nearly every lookup. */
const FILTER_SIZE = 1 << 20;
/** Lookups beyond the filter; a prompt made to cause more of them gets no text at all. 3 ms. */
const MAX_LOOKUPS = 20_000;
const FACTOR = 31;
/** The weight of the character that leaves the window: 31 to the power of 20, within 32 bits. */
const LEAVING = Array.from({ length: RUN }).reduce<number>((power) => Math.imul(power, FACTOR), 1);

const SPACE = 0x20;
const NO_BREAK_SPACE = 0xa0;

/** Without the escapes of JSON and Python, and with white space as one space: providers quote prompts in any form. */
const plain = (text: string): string =>
  text
    .replace(/\\u([\da-f]{4})|\\(["'\\/])|\\[nrtbf]/gi, (_, code?: string, mark = ' ') =>
      code === undefined ? mark : String.fromCharCode(Number.parseInt(code, 16)),
    )
    .replace(/\s/g, ' ');

/** The same for one character. */
const unitAt = (text: string, index: number): number => {
  const unit = text.charCodeAt(index);
  return unit <= SPACE || unit === NO_BREAK_SPACE ? SPACE : unit;
};

const step = (hash: number, unit: number, leaving: number): number =>
  (Math.imul(hash, FACTOR) + unit - Math.imul(leaving, LEAVING)) | 0;

type Runs = { filter: Uint8Array; texts: Set<string> };

/** The hash of the run that starts at `start`. */
const hashAt = (text: string, start: number): number => {
  let hash = 0;
  for (let index = start; index < start + RUN; index += 1) {
    hash = step(hash, unitAt(text, index), 0);
  }
  return hash;
};

/** All runs of a text, by hash and by value. */
const runsOf = (text: string): Runs => {
  const filter = new Uint8Array(FILTER_SIZE);
  const texts = new Set<string>();
  for (let start = 0; start + RUN <= text.length; start += 1) {
    const run = text.slice(start, start + RUN);
    filter[hashAt(text, start) & (FILTER_SIZE - 1)] = 1;
    texts.add(run);
  }
  return { filter, texts };
};

/**
 * The start of the first run at or after `from` that may be one of `filter`, by a rolling hash; -1 if there is
 * none. Linear in the length of `text`.
 */
const nextLikely = (text: string, from: number, filter: Uint8Array): number => {
  const last = text.length - RUN;
  if (from > last) return -1;
  let hash = hashAt(text, from);
  for (let start = from; ; start += 1) {
    if (filter[hash & (FILTER_SIZE - 1)] === 1) return start;
    if (start === last) return -1;
    hash = step(hash, unitAt(text, start + RUN), unitAt(text, start));
  }
};

/** Every text in a request that may be quoted, also names of several words: those of protocols and schemas are one. */
export function* textsIn(value: unknown): Generator<string, void, void> {
  // A list and no recursion: each text would pass through a generator for each level around it.
  const rest = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next === 'string') {
      if (next.length >= MIN_QUOTED) yield next;
    } else if (typeof next === 'object' && next !== null) {
      if (!Array.isArray(next)) yield* Object.keys(next).filter((name) => /\s/.test(name));
      for (const member of Object.values(next)) rest.push(member);
    }
  }
}

/** The forms in which texts may be quoted: as they are, and with their own escapes read. */
function* quotable(texts: Iterable<string>): Generator<string, void, void> {
  for (const text of texts) {
    yield text;
    if (/[\\\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]/.test(text)) yield plain(text);
  }
}

/** Without quotation marks and escapes, which nested quotations double. */
export const bare = (text: string): string => text.replace(/["'`\\]/g, '');

function* bareTexts(texts: Iterable<string>): Generator<string, void, void> {
  for (const text of texts) {
    yield bare(text);
    if (text.includes('\\')) yield bare(plain(text));
  }
}

/** All starts of a text that are as long as the shortest phrase. */
const startsOf = (text: string): Set<string> =>
  new Set(Array.from({ length: text.length }, (_, start) => text.slice(start, start + MIN_QUOTED)));

const isPhrase = (text: string): boolean =>
  text.length >= MIN_QUOTED && text.length < RUN && /\S\s+\S/.test(text);

/** Returns a function that looks up what is quoted of a source: where it is in `text`, or -1, for each lookup. */
const createLookups = (text: string) => {
  const { filter, texts } = runsOf(text);
  const starts = startsOf(text);
  return function* (source: string): Generator<number, void, void> {
    const phrase = isPhrase(source) ? plain(source) : '';
    if (starts.has(phrase.slice(0, MIN_QUOTED))) yield text.indexOf(phrase);
    let start = nextLikely(source, 0, filter);
    for (; start !== -1; start = nextLikely(source, start + 1, filter)) {
      const run = source.slice(start, start + RUN).replace(/\s/g, ' ');
      yield texts.has(run) ? text.indexOf(run) : -1;
    }
  };
};

/**
 * Returns the text before its first run of 20 characters that also occurs in one of `sources`, or before the
 * whole of a shorter one of several words.
 */
export const beforeEcho = (text: string, sources: Iterable<string>): string => {
  const searched = plain(text);
  if (searched.length < RUN) return searched;
  const lookUp = createLookups(searched);
  let end = searched.length;
  let lookups = 0;
  for (const source of quotable(sources)) {
    for (const place of lookUp(source)) {
      lookups += 1;
      if (lookups > MAX_LOOKUPS) return '';
      if (place !== -1) end = Math.min(end, place);
    }
  }
  return searched.slice(0, end);
};

/** The same without quotation marks and escapes, in the text and in the sources. */
export const bareBeforeEcho = (text: string, sources: Iterable<string>): string =>
  beforeEcho(bare(text), bareTexts(sources));
