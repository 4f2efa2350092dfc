import { createHash } from 'node:crypto';
import * as z from 'zod';

/**
 * A recorded session without a word of it: each text longer than a name is replaced by its number and its length, equal
 * texts by the same number. Reading fills them with words of that length.
 */
const Recorded = z.object({
  client: z.string(),
  version: z.string(),
  path: z.string(),
  /** Items of the lists that requests repeat, as JSON. */
  items: z.array(z.unknown()),
  requests: z.array(
    z.object({
      headers: z.record(z.string(), z.string()),
      body: z.record(z.string(), z.unknown()),
      /** Of each list the numbers of its items. */
      lists: z.record(z.string(), z.array(z.number())),
    }),
  ),
});
export type Recorded = z.infer<typeof Recorded>;

export type SentRequest = { headers: Record<string, string>; body: Record<string, unknown> };

/** Longer texts are somebody's words. */
const MAX_NAME = 40;
const PLACE = /^§(\d+):(\d+)$/;
const LISTS = ['tools', 'system', 'messages', 'input'];

type Replace = (text: string, member: string) => string;

const mapTexts = (value: unknown, replace: Replace, name = ''): unknown => {
  if (typeof value === 'string') return replace(value, name);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, replace));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, mapTexts(one, replace, key)]),
  );
};

/** What the recorder's own provider wrote: signatures, thinking that was sealed with one, and the arguments of its calls. */
const OWN = /^(?:mrs1\.[0-9a-f]{12}\.|WyJtcnMx|\{"\w+":.{0,200}\}$)/;

const createReplace = (): Replace => {
  const numbers = new Map<string, number>();
  return (text, member) => {
    const isName = text.length <= MAX_NAME && member !== 'description';
    if (isName || OWN.test(text)) return text;
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return `§${number}:${text.length}`;
  };
};

const withoutUser = (body: Record<string, unknown>, replace: Replace) => {
  const { metadata, ...rest } = body;
  return { ...(mapTexts(rest, replace) as object), ...(metadata !== undefined && { metadata }) };
};

export const shorten = (
  { client, version, path }: Pick<Recorded, 'client' | 'version' | 'path'>,
  sent: SentRequest[],
): Recorded => {
  const replace = createReplace();
  const numbers = new Map<string, number>();
  const numberOf = (item: unknown): number => {
    const text = JSON.stringify(item);
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return number;
  };
  const requests = sent.map(({ headers, body }) => {
    const short: Record<string, unknown> = withoutUser(body, replace);
    const lists: Recorded['requests'][number]['lists'] = {};
    for (const name of LISTS) {
      const list = short[name];
      if (!Array.isArray(list)) continue;
      lists[name] = list.map(numberOf);
      // Its place among the members stays.
      short[name] = [];
    }
    return { headers, body: short, lists };
  });
  return {
    client,
    version,
    path,
    items: [...numbers.keys()].map((text) => JSON.parse(text)),
    requests,
  };
};

const VOCABULARY =
  'the file reads each line of a module and returns what its caller needs now'.split(' ');

/** Words that differ from those of any other number, of this length. */
const wordsOf = (number: number, length: number): string => {
  let text = createHash('sha256').update(String(number)).digest('base64url').slice(0, 12);
  for (let turn = number; text.length < length; turn += 7) {
    text += ` ${VOCABULARY[turn % VOCABULARY.length]}`;
  }
  return text.slice(0, length);
};

/** The requests of a recorded session, with words of its texts' lengths. */
export const readRecorded = (
  value: unknown,
): Omit<Recorded, 'items' | 'requests'> & { requests: SentRequest[] } => {
  const { items, requests, ...rest } = Recorded.parse(value);
  const fill: Replace = (text) => {
    const [, number, length] = PLACE.exec(text) ?? [];
    return number === undefined ? text : wordsOf(Number(number), Number(length));
  };
  const filled = items.map((item) => mapTexts(item, fill));
  return {
    ...rest,
    requests: requests.map(({ headers, body, lists }) => ({
      headers,
      body: {
        ...(mapTexts(body, fill) as object),
        ...Object.fromEntries(
          Object.entries(lists).map(([name, numbers]) => [name, numbers.map((at) => filled[at])]),
        ),
      },
    })),
  };
};
