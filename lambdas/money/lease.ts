import { dayOf } from '../support/clock.ts';
import { versionOn } from './cost.ts';
import type { Prices, PriceVersion, TokenKind } from './prices.ts';

/** What a request may cause an upstream to bill. */
export type Demand = {
  /** Estimate of its input. */
  tokens: number;
  /** It may write to a cache that is kept for an hour or more. */
  writesLong: boolean;
  /** Kinds of input and of output that need a separate price: `input_audio`. */
  kinds: TokenKind[];
  /** It has images, which may have a separate price. */
  hasImages: boolean;
  /** Uses of tools that the upstream runs, by name. */
  uses: Record<string, number>;
  /** Its service tier and its speed, where it states them. */
  services: string[];
  geo: string | undefined;
};

/** What an attempt may cost, in nanos: at most for its input and for the uses of tools, and for each token of output. */
export type Rates = { input: number; tools: number; perToken: number };

/** Providers count up to so much more than the estimate; what one counts beyond that is a debt of its budget. */
const UPPER = 1.2;
const MORE_TOKENS = 64;

/** A dollar per million tokens is 1,000 nanos a token. */
const NANOS_PER_TOKEN = 1_000;
const NANOS_PER_DOLLAR = 1e9;

const SHORT: TokenKind[] = ['input', 'cache_read', 'cache_write_5m', 'cache_write_30m'];
const LONG: TokenKind[] = ['cache_write_1h', 'cache_write_12h'];
const OUTPUT: TokenKind[] = ['output', 'reasoning'];
const SPOKEN: TokenKind = 'output_audio';
/** Values with which nothing changes. */
const USUAL = new Set(['default', 'standard', 'auto', '']);

/** The dearest of these kinds; a tier may name another price. */
const dearest = (version: PriceVersion, tokens: number, kinds: TokenKind[]): number => {
  const tier = version.tiers?.findLast(({ above }) => tokens > above);
  const priced = { ...version, ...tier };
  return Math.max(0, ...kinds.map((kind) => priced[kind] ?? 0));
};

const factorOf = ({ services, geo }: Demand, version: PriceVersion, unpriced: string[]): number => {
  let factor = 1;
  for (const name of services.filter((value) => !USUAL.has(value))) {
    const known = version.service?.[name];
    if (typeof known !== 'number') unpriced.push(`service_tier:${name}`);
    factor *= Math.max(1, known ?? 1);
  }
  const regional = geo === undefined ? Object.values(version.geo ?? {}) : [version.geo?.[geo]];
  return factor * Math.max(1, ...regional.map((known) => known ?? 1));
};

/**
 * The rates of a demand at the prices of a target, or the names of what has no price there: a budget cannot promise what it
 * cannot compute.
 */
export const ratesOf = (
  demand: Demand,
  prices: Prices,
  startedAt: number,
): Rates | { unpriced: string[] } => {
  const version = versionOn(prices, dayOf(startedAt));
  const unpriced: string[] = [];
  const { kinds, uses, writesLong, hasImages } = demand;
  for (const kind of ['input', 'output', ...kinds] as const) {
    if (typeof version[kind] !== 'number') unpriced.push(kind);
  }
  const factor = factorOf(demand, version, unpriced) * (prices.factor ?? 1);
  let tools = 0;
  for (const [name, times] of Object.entries(uses)) {
    const dollars = version.uses?.[name];
    if (dollars == null) unpriced.push(name);
    tools += times * (dollars ?? 0) * (prices.factor ?? 1) * NANOS_PER_DOLLAR;
  }
  if (unpriced.length > 0) return { unpriced };
  const tokens = Math.ceil(demand.tokens * UPPER) + MORE_TOKENS;
  const read: TokenKind[] = [...SHORT, ...(writesLong ? LONG : []), ...kinds];
  if (hasImages) read.push('input_image');
  const written = kinds.includes(SPOKEN) ? [...OUTPUT, SPOKEN] : OUTPUT;
  const unspoken = read.filter((kind) => kind !== SPOKEN);
  const perInput = dearest(version, tokens, unspoken);
  const input = tokens * perInput * factor * NANOS_PER_TOKEN;
  const perToken = dearest(version, tokens, written) * factor * NANOS_PER_TOKEN;
  return { input: Math.ceil(input), tools: Math.ceil(tools), perToken: Math.ceil(perToken) };
};
