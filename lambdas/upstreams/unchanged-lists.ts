import { isDeepStrictEqual } from 'node:util';
import { asRecord, endOfString } from '../protocols/json.ts';

/** A body as its caller sent it: its JSON text, what that is parsed to, and its size. */
export type Source = { text: string; value: unknown; bytes: number };

/** Where a list is in a JSON text, and how many names of members it holds. */
type Span = { start: number; end: number; names: number };

/** The lists that are members of the object of a valid JSON text; of a repeated name the last one, as JSON.parse reads it. */
const listsIn = (text: string): Map<unknown, Span> => {
  const lists = new Map<unknown, Span>();
  let depth = 0;
  let name = '';
  let names = 0;
  let start = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text[index]) {
      case '"': {
        const end = endOfString(text, index + 1);
        if (depth === 1) name = text.slice(index, end + 1);
        index = end;
        break;
      }
      case ':':
        if (depth > 1) names += 1;
        else {
          start = index + 1;
          names = 0;
        }
        break;
      case '{':
      case '[':
        depth += 1;
        break;
      case '}':
      case ']':
        depth -= 1;
        // A name may be written with escapes.
        if (depth === 1) lists.set(JSON.parse(name), { start, end: index + 1, names });
        break;
      default:
    }
  }
  return lists;
};

const namesIn = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0;
  const members: unknown[] = Object.values(value);
  const own = Array.isArray(value) ? 0 : members.length;
  return members.reduce<number>((sum, member) => sum + namesIn(member), own);
};

/**
 * Returns a function that finds the text of a list which is the same in a body as its caller sent it. A text with a
 * name twice, or with `__proto__`, holds more names than were read: another reader could see something else in it.
 */
export const unchangedListsOf = ({ text, value }: Source) => {
  const spans = listsIn(text);
  const lists = asRecord(value);
  return (name: string, list: unknown[]): string | undefined => {
    const span = spans.get(name);
    if (!span || namesIn(list) !== span.names) return undefined;
    return isDeepStrictEqual(list, lists?.[name]) ? text.slice(span.start, span.end) : undefined;
  };
};
