import { invalidRequest } from '../support/errors.ts';

/** JSON.parse takes millions of levels, but code that walks the value afterwards overflows its stack. */
const MAX_DEPTH = 64;

/** Of one object. Checking and copying one takes some microseconds: 300,000 of them took seconds. */
const MAX_MEMBERS = 10_000;

/**
 * Of the whole body: 10,000 messages of two parts each have 90,000. Distinct keys cost the most; 100,000 of
 * them block the process for up to 150 ms, 2.6 million values did for a second.
 */
const MAX_VALUES = 100_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Index of the quote that closes a string whose content begins at `from`; the text's end if none does. */
const endOfString = (text: string, from: number): number => {
  let at = from;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at;
    at += unit === BACKSLASH ? 2 : 1;
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
        throw invalidRequest('The request body holds more than 100,000 values.');
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
 * Bounds a JSON text before it is parsed: 64 levels, 10,000 members an object, 100,000
 * values in all. One pass without recursion. @throws ApiError 400
 */
export const assertBounds = (text: string): void => {
  const tally = createTally();
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"':
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
