import { asArray, type Json } from './json.ts';
import { type Nodes, OPEN_OBJECT } from './outline.ts';
import { childrenOf } from './splice.ts';

/** Bytes of a list whose items are parsed one by one: a text of all gets new pages, which the system has to clear. */
const LARGE_LIST = 32_768;

type Placed = { name: string | number; index: number; value: unknown };

/**
 * Parses the objects in the large lists of an object alone, and the rest with `{}` for each of them, which is JSON if and
 * only if the whole is. @throws SyntaxError
 */
export const parseBytes = (raw: Buffer, nodes: Nodes): unknown => {
  const members = raw.length > LARGE_LIST ? childrenOf({ raw, nodes }, 0) : [];
  // Of a repeated name only the last value is read.
  const isPlain = new Set(members.map(({ key }) => key)).size === members.length;
  const placed: Placed[] = [];
  let [rest, from] = ['', 0];
  for (const { key: name, node, start: first, end: last } of isPlain ? members : []) {
    if (last - first < LARGE_LIST) continue;
    for (const { key: index, start, end } of childrenOf({ raw, nodes }, node)) {
      if (typeof index === 'string' || raw[start] !== OPEN_OBJECT) continue;
      placed.push({ name, index, value: JSON.parse(raw.toString('utf8', start, end)) });
      rest += `${raw.toString('utf8', from, start)}{}`;
      from = end;
    }
  }
  const value = JSON.parse(rest + raw.toString('utf8', from));
  for (const { name, index, value: item } of placed) asArray((value as Json)[name])[index] = item;
  return value;
};
