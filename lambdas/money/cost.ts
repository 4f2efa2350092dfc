import { sha256Of } from '../support/bytes.ts';
import { dayOf } from '../support/clock.ts';
import { dollarsOf } from '../support/public-usage.ts';
import type { Prices, PriceVersion, TokenKind } from './prices.ts';

/** What an upstream bills for one attempt, in its own counts. */
export type Billed = {
  /** Includes what was read from and written to a cache, and audio and images. */
  inputTokens: number;
  /** Includes reasoning and audio. */
  outputTokens: number;
  cacheReadTokens?: number | undefined;
  cacheWriteTokens?: number | undefined;
  /** Part of `cacheWriteTokens`: those of the longer lifetime. */
  cacheWriteLongTokens?: number | undefined;
  reasoningTokens?: number | undefined;
  inputAudioTokens?: number | undefined;
  inputImageTokens?: number | undefined;
  outputAudioTokens?: number | undefined;
  /** Of tools that the provider ran, by name. */
  uses?: Record<string, number> | undefined;
  serviceTier?: string | undefined;
  speed?: string | undefined;
  geo?: string | undefined;
  /** What it counts apart: the summaries of a conversation that it shortened. */
  compactions?: Billed[] | undefined;
  /** What the provider says that it costs, in billionths of a US dollar. */
  statedNanos?: number | undefined;
};

/** A quantity with its price in billionths of a US dollar, which add up to the cost of the request. */
type KindCost = readonly [quantity: number, nanos: number];
export type KindCosts = Record<string, KindCost>;

/** As callers and operators read them. */
export const publicKinds = (kinds: KindCosts) =>
  Object.fromEntries(
    Object.entries(kinds).map(([kind, [quantity, nanos]]) => [
      kind,
      { quantity, cost_usd: dollarsOf(nanos) },
    ]),
  );

/** Adds `more` to `sums`, in place. */
export const addKinds = (sums: KindCosts, more: KindCosts = {}): void => {
  for (const [kind, [quantity, nanos]] of Object.entries(more)) {
    const [before, nanosBefore] = sums[kind] ?? [0, 0];
    sums[kind] = [before + quantity, nanosBefore + nanos];
  }
};

export type Cost = {
  /** In billionths of a US dollar: an integer, so that sums are exact. */
  nanos: number;
  /** `stated` by the provider, or `priced` by the catalog. */
  source: 'stated' | 'priced';
  /** What the provider bills and no price is known of, by name: it costs as much as its like, or nothing. */
  incomplete: string[];
  /** Absent of a stated cost, which names none. */
  kinds?: KindCosts;
  /** Names the prices that were used. */
  version?: string;
};

/** A dollar is 10^12 of them: a price of half a cent a million tokens with a surcharge of a tenth is still an integer. */
const PICOS_PER_DOLLAR = 1e12;
/** A dollar a million tokens is a million of them a token. */
const PICOS_PER_TOKEN = 1e6;

type Line = { kind: string; quantity: number; picos: number; isPriced: boolean };

/** Values with which nothing changes. */
const USUAL = new Set(['default', 'standard', 'auto', 'on_demand', 'global', 'not_available', '']);

/** What a kind costs that has no price: as much as the tokens that it is part of. */
const LIKE: { [Kind in TokenKind]?: TokenKind } = {
  cache_read: 'input',
  cache_write_5m: 'input',
  cache_write_30m: 'input',
  cache_write_1h: 'input',
  cache_write_12h: 'input',
  input_audio: 'input',
  input_image: 'input',
  output_audio: 'output',
};

/** The version that holds on a UTC day; on a day before all, the first. */
export const versionOn = ({ versions }: Prices, day: string): PriceVersion =>
  versions.findLast(({ from }) => from <= day) ?? versions[0] ?? { from: '' };

/** Of the lifetimes that vendors have, the one that a version prices; the first if it prices neither. */
const lifetimeIn = <Kind extends TokenKind>(version: PriceVersion, one: Kind, other: Kind): Kind =>
  version[one] === undefined && version[other] !== undefined ? other : one;

/** Tokens by kind, each in one of them; kinds of none are left out. */
const tokensOf = (billed: Billed, version: PriceVersion): [TokenKind, number][] => {
  const { cacheReadTokens = 0, cacheWriteTokens = 0, cacheWriteLongTokens = 0 } = billed;
  const kinds: [TokenKind, number][] = [];
  let fresh = billed.inputTokens;
  let text = billed.outputTokens;
  const input = (kind: TokenKind, tokens = 0) => {
    const taken = Math.min(tokens, fresh);
    if (taken > 0) kinds.push([kind, taken]);
    fresh -= taken;
    return taken;
  };
  const output = (kind: TokenKind, tokens = 0) => {
    const taken = Math.min(tokens, text);
    if (taken > 0) kinds.push([kind, taken]);
    text -= taken;
  };
  input('cache_read', cacheReadTokens);
  const long = lifetimeIn(version, 'cache_write_1h', 'cache_write_12h');
  const written = input(long, cacheWriteLongTokens);
  input(lifetimeIn(version, 'cache_write_5m', 'cache_write_30m'), cacheWriteTokens - written);
  input('input_audio', billed.inputAudioTokens);
  input('input_image', billed.inputImageTokens);
  input('input', fresh);
  output('output_audio', billed.outputAudioTokens);
  if (version.reasoning !== undefined) output('reasoning', billed.reasoningTokens);
  output('output', text);
  return kinds;
};

/** The product of the factors that an answer's tier, speed and region select; unknown ones are added to `incomplete`. */
const factorOf = (billed: Billed, { service, geo }: PriceVersion, incomplete: string[]): number => {
  const selected = [
    { name: 'service_tier', value: billed.serviceTier, factors: service },
    { name: 'speed', value: billed.speed, factors: service },
    { name: 'geo', value: billed.geo, factors: geo },
  ];
  return selected.reduce((product, { name, value, factors }) => {
    const factor = value === undefined ? 1 : factors?.[value];
    if (typeof factor === 'number') return product * factor;
    if (factor === null || !USUAL.has(value ?? '')) incomplete.push(`${name}:${value}`);
    return product;
  }, 1);
};

/** Prices of tokens, at the tier of the request's whole prompt. */
const tokenLinesOf = (billed: Billed, factor: number, version: PriceVersion): Line[] => {
  const tier = version.tiers?.findLast(({ above }) => billed.inputTokens > above);
  const priced = { ...version, ...tier };
  return tokensOf(billed, version).map(([kind, quantity]) => {
    const dollars = priced[kind] ?? priced[LIKE[kind] ?? kind] ?? 0;
    const picos = Math.round(dollars * PICOS_PER_TOKEN * factor);
    return { kind, quantity, picos, isPriced: priced[kind] != null };
  });
};

const useLinesOf = ({ uses = {} }: Billed, factor: number, version: PriceVersion): Line[] =>
  Object.entries(uses).map(([kind, quantity]) => {
    const dollars = version.uses?.[kind];
    const picos = Math.round((dollars ?? 0) * PICOS_PER_DOLLAR * factor);
    return { kind, quantity, picos, isPriced: dollars != null };
  });

const toNanos = (picos: bigint): number => Number((picos + 500n) / 1_000n);

const versions = new WeakMap<PriceVersion, string>();

/** Eight hexadecimal digits of a hash: a changed price is another version. */
const nameOf = (version: PriceVersion, factor: number | undefined): string => {
  const known = versions.get(version) ?? sha256Of(JSON.stringify([version, factor])).slice(0, 8);
  versions.set(version, known);
  return known;
};

/** A gateway states a cost of zero for models that it has no price of, too: for output that has one it states nothing. */
const statedIn = ({ statedNanos, outputTokens }: Billed, { output }: PriceVersion) =>
  statedNanos === 0 && outputTokens > 0 && output ? undefined : statedNanos;

/**
 * Cost of what an upstream bills for a request that began at an instant (ms). What the provider states itself counts; else the
 * catalog's prices of that day. Rounded once, half up: kinds are differences of rounded sums, and so add up to the whole.
 */
export const costOf = (billed: Billed, prices: Prices, startedAt: number): Cost => {
  const { factor = 1 } = prices;
  const version = versionOn(prices, dayOf(startedAt));
  const stated = statedIn(billed, version);
  if (stated !== undefined) return { nanos: stated, source: 'stated', incomplete: [] };
  const incomplete: string[] = [];
  const ofTokens = factor * factorOf(billed, version, incomplete);
  const lines = [
    ...[billed, ...(billed.compactions ?? [])].flatMap((one) =>
      tokenLinesOf(one, ofTokens, version),
    ),
    ...useLinesOf(billed, factor, version),
  ].filter(({ quantity }) => quantity > 0);
  const kinds: KindCosts = {};
  let sum = 0n;
  for (const { kind, quantity, picos, isPriced } of lines) {
    const before = toNanos(sum);
    sum += BigInt(quantity) * BigInt(picos);
    addKinds(kinds, { [kind]: [quantity, toNanos(sum) - before] });
    if (!isPriced) incomplete.push(kind);
  }
  const name = nameOf(version, prices.factor);
  return { nanos: toNanos(sum), source: 'priced', incomplete, kinds, version: name };
};
