import { asString, readJson } from './json.ts';

/** A string without escapes: V8 finds that in a third of the time in which it parses or writes one. */
const PLAIN = /^"[ !#-[\]-\ud7ff\ue000-\uffff]*"$/;

const writeString = (text: string): string => {
  const literal = `"${text}"`;
  return PLAIN.test(literal) ? literal : JSON.stringify(text);
};

/** The string of a JSON literal; undefined for any other value. */
const readString = (literal: string): string | undefined =>
  PLAIN.test(literal) ? literal.slice(1, -1) : asString(readJson(literal));

/** Stands for the string; no name or id holds it. */
const HOLE = '\u0000';
const HOLE_LITERAL = JSON.stringify(HOLE);

/** Returns a function that writes the same JSON as `write`, which stringifies it once, with another string. */
export const jsonTemplate = (write: (hole: string) => string): ((text: string) => string) => {
  const [head, tail] = write(HOLE).split(HOLE_LITERAL);
  return (text) => `${head}${writeString(text)}${tail}`;
};

/** What JSON texts have in common that differ in one string: the text before it and the text behind it. */
export type Frame = { head: string; tail: string; isPadded: boolean };

/** Where the string of a text is that has a frame. */
export type Place = { frame: Frame; start: number; end: number };

/** OpenAI ends each event with random characters, which hide the length of its text and mean nothing. */
const PADDING = /,"obfuscation":"\w*"\}$/;

const endOf = (text: string, isPadded: boolean): number =>
  isPadded ? text.search(PADDING) : text.length;

/** The text around the one place where a literal is; undefined if it is not, or if it may be at another one. */
export const frameAround = (text: string, literal: string): Frame | undefined => {
  const start = text.indexOf(literal);
  const isPadded = PADDING.test(text);
  // Not `lastIndexOf`, which compares 40,000 quotes at each of 40,000 places.
  if (start < 0 || text.indexOf(literal, start + 1) >= 0) return undefined;
  const tail = text.slice(start + literal.length, endOf(text, isPadded));
  return { head: text.slice(0, start), tail, isPadded };
};

/** Reads the string in which a text differs from a learned one, without parsing the rest. */
export const createJsonFrame = () => {
  let frame: Frame | undefined;
  return {
    /** Returns where the string is. `string` is the value of a member of `text`, which is JSON. */
    learn: (text: string, string: string): Place | undefined => {
      const literal = JSON.stringify(string);
      const around = frameAround(text, literal);
      frame = undefined;
      if (!around) return undefined;
      const rest = around.head + around.tail;
      // The literal is that member if no other string is escaped. A second list, next to that of the choices, may be one
      // that grows with each event.
      const isMember = !rest.includes('\\');
      if (!isMember || rest.indexOf('[') !== rest.lastIndexOf('[')) return undefined;
      frame = around;
      const start = around.head.length;
      return { frame, start, end: start + literal.length };
    },
    forget: () => {
      frame = undefined;
    },
    /** The string, and where it is; undefined if `text` differs in anything else. */
    read: (text: string): (Place & { string: string }) | undefined => {
      if (!frame) return undefined;
      const { head, tail, isPadded } = frame;
      const limit = endOf(text, isPadded);
      const [start, end] = [head.length, limit - tail.length];
      // V8 compares slices ten times faster than `startsWith` does.
      const isFramed = text.slice(0, start) === head && text.slice(end, limit) === tail;
      // Anything but a string may have more levels than are parsed here.
      if (text[start] !== '"' || !isFramed || limit <= 0) return undefined;
      const string = readString(text.slice(start, end));
      return string === undefined ? undefined : { string, frame, start, end };
    },
  };
};
