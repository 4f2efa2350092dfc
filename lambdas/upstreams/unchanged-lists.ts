import { isDeepStrictEqual } from 'node:util';
import { asRecord, type JsonSource, type MemberSpan } from '../protocols/json.ts';

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
export const unchangedListsOf = ({ text, value, spans }: JsonSource) => {
  const lists = asRecord(value);
  // Of a repeated name JSON.parse reads the last one, and each may be written with escapes.
  const spanOf = new Map(spans.map((span): [string, MemberSpan] => [JSON.parse(span.name), span]));
  return (wanted: string, list: unknown[]): string | undefined => {
    const span = spanOf.get(wanted);
    if (!span || !isDeepStrictEqual(list, lists?.[wanted])) return undefined;
    return namesIn(list) === span.names ? text.slice(span.start, span.end) : undefined;
  };
};
