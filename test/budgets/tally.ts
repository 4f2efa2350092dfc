import type { Random } from '../simulation/random.ts';

/** Of agents that share one budget. */
export type CrowdSize = { agents: number; keys: number; maxUsd: number; lost: number };

type Kind = 'reserve again' | 'slice' | 'return' | 'grant' | 'recall' | 'transfer';
/** `kinds`: the writes by what they are for. */
type Counts = { served: number; kinds: Partial<Record<Kind, number>> };

/** What agents and tables saw. */
export type Tally = {
  attempts: number;
  denied: Record<number, number>;
  failed: number;
  /** 402s before 95 % of the budget was billed. */
  early: number;
  /** While less than half of the budget is spent or leased. */
  far: Counts;
  near: Counts;
  /** Writes that reserve, also those that are denied. */
  reserves: number;
  seconds: number;
};

export type Prompt = {
  tokens: number;
  /** Of them, those that no cache has yet. */
  fresh: number;
  isLost: boolean;
  /** Tokens of output. */
  wanted: number;
  isMessages: boolean;
};

/** Generated before a session has a new prompt that no cache has. */
const FRESH: [number, number] = [500, 4_500];

/** Log-normal with a deviation of 1.1, by the sum of twelve uniform numbers. */
const outputFrom = (random: Random, [median, most]: [number, number]): number => {
  let sum = -6;
  for (let n = 0; n < 12; n += 1) sum += random.between(0, 9_999) / 10_000;
  return Math.min(most, Math.max(20, Math.round(median * Math.exp(1.1 * sum))));
};

/** `context`: tokens of prompts. `output`: median and upper bound of the tokens of output. `lost`: share that lost its cache. */
export const promptFrom = (
  random: Random,
  sizes: { context: [number, number]; output: [number, number]; lost: number },
): Prompt => {
  const tokens = random.between(...sizes.context);
  return {
    tokens,
    fresh: Math.min(tokens / 2, random.between(...FRESH)),
    isLost: random.chance(sizes.lost),
    wanted: outputFrom(random, sizes.output),
    isMessages: random.chance(0.5),
  };
};

/** The input of an UpdateItem; of the AWS protocol, or of a document client. */
export type Update = {
  UpdateExpression?: string | undefined;
  ExpressionAttributeNames?: Record<string, string> | undefined;
  ExpressionAttributeValues?: Record<string, unknown> | undefined;
};

/** The attributes that a write changes, with the number that each is set to or raised by. */
const changesOf = ({
  UpdateExpression: update = '',
  ExpressionAttributeNames: names = {},
  ExpressionAttributeValues: values = {},
}: Update): Map<string, number> =>
  new Map(
    Array.from(update.matchAll(/(#\w+) (?:= )?(:\w+)/g), ([, name = '', value = '']) => {
      const given = values[value];
      return [names[name] ?? '', Number((given as { N?: string } | undefined)?.N ?? given)];
    }),
  );

const MARK = /^m.{7}$/;
const markIn = (changes: Map<string, number>): string | undefined =>
  [...changes.keys()].find((name) => MARK.test(name));
const roomIn = (changes: Map<string, number>): number | undefined =>
  [...changes].find(([name]) => /^\$[a-z]/.test(name))?.[1];
const has = (changes: Map<string, number>, prefix: string): boolean =>
  [...changes.keys()].some((name) => name.startsWith(prefix));

/** What a write is for that a request without a budget does not have; undefined if that has it, too. */
const kindOf = (key: string, changes: Map<string, number>): Kind | undefined => {
  if (key.startsWith('budget/')) return has(changes, 'g') ? 'grant' : 'transfer';
  if (has(changes, '$-')) return 'recall';
  if (markIn(changes)) return (roomIn(changes) ?? 0) > 0 ? 'return' : 'slice';
  return has(changes, '$+') ? 'transfer' : undefined;
};

/** `used`: nanos of the budget, of `max`, that are spent or leased. */
export const createTally = (max: number, used: () => number) => {
  const tally: Tally = {
    ...{ attempts: 0, denied: {}, failed: 0, early: 0, reserves: 0, seconds: 0 },
    far: { served: 0, kinds: {} },
    near: { served: 0, kinds: {} },
  };
  const phase = (): Counts => (used() < max / 2 ? tally.far : tally.near);
  const reserved = new Set<string>();
  const note = (kind: Kind) => {
    const { kinds } = phase();
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  };
  return {
    tally,
    phase,
    /** Counts the writes of budgets: all of a table of meters but one that reserves and one that settles. */
    watch: (key: string, write: Update): void => {
      const changes = changesOf(write);
      // The limit itself is set.
      if (changes.has('max')) return;
      const mark = markIn(changes);
      if (mark && has(changes, 'r')) {
        tally.reserves += 1;
        if (reserved.has(mark)) note('reserve again');
        reserved.add(mark);
        return;
      }
      // A settlement counts one request less in flight; a reserve may receive a grant.
      const kind = changes.has('n') ? undefined : kindOf(key, changes);
      if (kind) note(kind);
    },
    denied: (status: number, billed: number): void => {
      tally.denied[status] = (tally.denied[status] ?? 0) + 1;
      if (status === 402 && billed < 0.95 * max) tally.early += 1;
    },
  };
};

const perRequest = ({ kinds, served }: Counts): string => {
  const writes = Object.values(kinds).reduce((sum, count) => sum + count, 0);
  return `${served === 0 ? '-' : (writes / served).toFixed(2)} of ${served} ${JSON.stringify(kinds)}`;
};

export const shown = (
  { agents, keys, maxUsd, lost }: CrowdSize,
  billed: number,
  tally: Tally,
): string =>
  [
    `${agents} agents, ${keys} keys, $${maxUsd}, ${lost * 100} percent lost:`,
    `billed $${(billed / 1e9).toFixed(4)}, over $${Math.max(0, billed / 1e9 - maxUsd).toFixed(4)},`,
    `402 before 95 percent ${((100 * tally.early) / tally.attempts).toFixed(2)} percent of ${tally.attempts} attempts,`,
    `extra writes a response far ${perRequest(tally.far)}, near ${perRequest(tally.near)},`,
    `reserves an attempt ${(tally.reserves / tally.attempts).toFixed(2)},`,
    `denied ${JSON.stringify(tally.denied)}, failed ${tally.failed}, ${tally.seconds} s`,
  ].join(' ');
