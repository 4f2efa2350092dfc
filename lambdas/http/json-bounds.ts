import { invalidRequest } from '../support/errors.ts';

/** JSON.parse takes millions of levels, but code that walks the value afterwards overflows its stack. */
const MAX_DEPTH = 64;

/** Of one object. Checking and copying one takes some microseconds: 300,000 of them took seconds. */
const MAX_MEMBERS = 10_000;

/** Of the whole body: 10,000 messages with a few parts each have 100,000; 2.6 million took a second. */
const MAX_VALUES = 250_000;

const QUOTE = '"';
const BACKSLASH = 0x5c;

/** Index of the quote that closes a string whose content begins at `from`; the text's end if none does. */
const endOfString = (text: string, from: number): number => {
  for (let at = text.indexOf(QUOTE, from); at !== -1; at = text.indexOf(QUOTE, at + 1)) {
    let backslashes = 0;
    while (at - backslashes > from && text.charCodeAt(at - backslashes - 1) === BACKSLASH) {
      backslashes++;
    }
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
};

const createTally = () => {
  /** Members so far of each object that is open, by its level. */
  const members = new Uint16Array(MAX_DEPTH + 1);
  let depth = 0;
  let values = 0;
  return {
    /** Counts what a comma or an opening bracket announces: at least one value for each but empty brackets. */
    value() {
      values += 1;
      if (values > MAX_VALUES) {
        throw invalidRequest('The request body holds more than 250,000 values.');
      }
    },
    open() {
      if (++depth > MAX_DEPTH) {
        throw invalidRequest(`The request body is nested deeper than ${MAX_DEPTH} levels.`);
      }
      members[depth] = 0;
    },
    member() {
      const count = (members[depth] ?? 0) + 1;
      if (count > MAX_MEMBERS) {
        throw invalidRequest('The request body holds an object of more than 10,000 members.');
      }
      members[depth] = count;
    },
    close() {
      depth--;
    },
  };
};

/**
 * Bounds a JSON text before it is parsed: 64 levels, 10,000 members an object, 250,000
 * values in all. One pass without recursion;
 * strings are skipped at the speed of `indexOf`. @throws ApiError 400
 */
export const assertBounds = (text: string): void => {
  const tally = createTally();
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case QUOTE:
        at = endOfString(text, at + 1);
        break;
      case '{':
      case '[':
        tally.value();
        tally.open();
        break;
      case ',':
        tally.value();
        break;
      case ':':
        tally.member();
        break;
      case '}':
      case ']':
        tally.close();
        break;
      default:
    }
  }
};
