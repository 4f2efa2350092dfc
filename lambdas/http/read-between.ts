import {
  asArray,
  type Json,
  type JsonSource,
  withWrittenNumbers,
} from '../protocols/bytes/json.ts';
import {
  type Begun,
  END,
  NAME,
  NEXT,
  NODE,
  type Nodes,
  namesIn,
  outlineOf,
  type Place,
  START,
} from '../protocols/bytes/outline.ts';
import { childrenOf } from '../protocols/bytes/splice.ts';
import { type Raw, sliceOf } from '../support/bytes.ts';
import { keepItems } from '../support/memo.ts';
import type { Ended, Known, Overlap } from './body-cache.ts';
import { cleaned, LIMITS } from './body-rules.ts';

/**
 * Parses what is between the known items of a list and the known members, with a zero for the items and a member without a name
 * for the members: it is JSON if and only if the whole is. Returns it with the number of its members; undefined if it is not JSON,
 * or has half a surrogate pair, which the whole may have in a value that a repeated name replaces.
 */
const parseBetween = (raw: Buffer, nodes: Nodes, { begun, ended }: Overlap) => {
  const text = raw.toString('utf8', begun?.from, ended?.start);
  if (ended && !text.trimEnd().endsWith(',')) return undefined;
  const name = begun && raw.toString('utf8', nodes[begun.list + NAME], nodes[begun.list + START]);
  try {
    const between: Json = JSON.parse(`${begun ? `{${name}[0` : ''}${text}${ended ? '"":0}' : ''}`);
    const hasEscapes = text.includes('\\u');
    return { between, count: cleaned(between, { hasEscapes, removed: new Set() }) };
  } catch {
    return undefined;
  }
};

/** The nodes with those of the members at the end of a known body, whose places have moved; adds their places. */
const withEnded = (nodes: Nodes, places: Place[], known: Known, { node: first, by }: Ended) => {
  const back = nodes.length - first;
  const moved = (place = -1): number => (place < 0 ? place : place + by);
  const from = known.nodes[first + NAME] ?? 0;
  const ended = known.nodes.slice(first);
  for (let node = 0; node < ended.length; node += NODE) {
    ended[node + NAME] = moved(ended[node + NAME]);
    ended[node + START] = moved(ended[node + START]);
    ended[node + END] = moved(ended[node + END]);
    ended[node + NEXT] = (ended[node + NEXT] ?? 0) + back;
  }
  for (const { steps, start, end } of known.places) {
    if (start < from) continue;
    const ways = steps.map(([name, last]): [number, number] => [moved(name), moved(last)]);
    places.push({ steps: ways, start: start + by, end: end + by });
  }
  const all = nodes.concat(ended);
  all[END] = moved(known.nodes[END]);
  all[NEXT] = all.length;
  return all;
};

/** The items of a known list, and those behind the first one of another. */
const grown = (earlier: unknown[], { items }: Begun, others: Json[string]): unknown[] => {
  const [_, ...added] = asArray(others);
  const list = [...earlier.slice(0, items), ...added];
  keepItems(list, earlier, items);
  return list;
};

/** The value whose members before a list and from the node `last` on are known; undefined if a name is repeated. */
const joined = (
  text: Pick<JsonSource, 'raw' | 'nodes'>,
  { known, begun }: Overlap,
  { between, last }: { between: Json; last: number },
): Json | undefined => {
  const members = childrenOf(text, 0);
  const names = new Set(members.map(({ key }) => key));
  if (names.size < members.length || names.size > LIMITS.members) return undefined;
  const list = begun?.list ?? 0;
  const value: Json = {};
  for (const { key, node } of members) {
    const isKnown = node < list || node >= last;
    const member = (isKnown ? known.value : between)[key];
    value[key] = node === list && begun ? grown(asArray(known.value[key]), begun, member) : member;
  }
  return value;
};

/** Reads what is not known of a body; undefined if it has to be read whole. `read`: the body, or its text in ASCII. */
export const readBetween = (raw: Buffer, read: Raw, overlap: Overlap): Known | undefined => {
  const { known, begun, ended } = overlap;
  const [earlier, placesBefore] = [begun?.nodes.length ?? 0, begun?.places.length ?? 0];
  const { nodes: own, places, exceeded } = outlineOf(sliceOf(read, 0, ended?.start), LIMITS, begun);
  const parsed = exceeded === undefined ? parseBetween(raw, own, overlap) : undefined;
  // The list has its name here too, and so has what stands for the known members.
  const names = namesIn(own, earlier) + (begun ? 1 : 0) + (ended ? 1 : 0);
  if (parsed?.count !== names) return undefined;
  const { between } = parsed;
  const ownPlaces = places.slice(placesBefore);
  const nodes = ended ? withEnded(own, places, known, ended) : own;
  if (nodes.length > LIMITS.values * NODE) return undefined;
  const value = joined({ raw, nodes }, overlap, { between, last: own.length });
  if (value) withWrittenNumbers(raw, value, ownPlaces);
  return value && { nodes, places, value };
};
