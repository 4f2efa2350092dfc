import { EPOCH, lentName, numberIn } from './meter-item.ts';
import { budgetName, grantedName, joinedName, SHARDS, shardsAfter } from './meter-shards.ts';
import type { Counter } from './meter-writes.ts';
import type { Item } from './table.ts';

/** Units of a counter that the root grants, to each of some shards. */
export type Grant = {
  counter: string;
  shards: number[];
  from: unknown;
  to: number;
  amount: number;
  /** What the root may count so that there is room for this grant. */
  max: number;
};

const leftOf = (root: Item, { name, limit }: Counter): number => limit - numberIn(root, name);

/** What shards without a grant of the counter get at once; undefined if too little is left. */
const firstGrant = (
  root: Item,
  shards: number[],
  counter: Counter,
  sharedBy: number,
): Grant | undefined => {
  const amount = Math.floor(leftOf(root, counter) / (2 * sharedBy));
  const { name, limit } = counter;
  const max = limit - amount * shards.length;
  return amount > 0
    ? { counter: name, shards, from: undefined, to: amount, amount, max }
    : undefined;
};

/** What new shards are granted as they are registered, so that each costs no further write of the root. */
export const grantsForNew = (root: Item, shards: number[], counters: Counter[]): Grant[] => {
  const sharedBy = numberIn(root, SHARDS) + shards.length;
  const grants = counters.map((counter) => firstGrant(root, shards, counter, sharedBy));
  return grants.filter((grant) => grant !== undefined);
};

/** Whether the shard has joined the root's epoch. */
export const hasJoined = (root: Item, shard: number): boolean =>
  root[joinedName(shard)] === root[EPOCH];

/**
 * What the root must grant before this shard can admit a request; an empty list if it has been granted enough.
 * Undefined if a limit leaves none. The first grant of a counter serves all shards, so that a minute costs one write of
 * the root.
 */
export const grantsFor = (
  root: Item,
  shard: number,
  item: Item | undefined,
  counters: Counter[],
): Grant[] | undefined => {
  const grants: Grant[] = [];
  const shards = numberIn(root, SHARDS);
  for (const counter of counters) {
    const { name, limit } = counter;
    const from = root[grantedName(shard, name)];
    const granted = Number(from ?? 0);
    const left = leftOf(root, counter);
    // More is lent than a lowered limit allows: what a refund leaves of a grant is not the shard's to use.
    if (left < 0) return undefined;
    if (numberIn(item, name) < granted) continue;
    if (left < 1) return undefined;
    const joined = shardsAfter(0, shards).filter((one) => hasJoined(root, one));
    const first = root[lentName(name)] === undefined && firstGrant(root, joined, counter, shards);
    const amount = Math.max(1, Math.floor(left / (2 * shards)));
    const max = limit - amount;
    const to = granted + amount;
    grants.push(first || { counter: name, shards: [shard], from, to, amount, max });
  }
  return grants;
};

/** Ends of keys in the root that are later in the shard, or absent: version 0.1.0 writes them to the root only. */
export const keyEndsToCopy = (root: Item, item: Item = {}): [string, number][] =>
  Object.entries(root).filter(
    (entry): entry is [string, number] =>
      entry[0].startsWith('u') && !(Number(item[entry[0]]) <= Number(entry[1])),
  );

/** Budgets of the shard that are below what the root granted. */
export const budgetsToCopy = (
  root: Item,
  shard: number,
  item: Item | undefined,
  counters: Counter[],
): { counter: string; budget: number }[] =>
  counters
    .map(({ name }) => ({ counter: name, budget: numberIn(root, grantedName(shard, name)) }))
    .filter(
      ({ counter, budget }) => budget > numberIn(item, budgetName(numberIn(root, EPOCH), counter)),
    );
