import * as z from 'zod';
import type { Model, Target } from '../../lambdas/catalog/catalog.ts';
import type { TokenPrices } from '../../lambdas/money/prices.ts';
import { omitUndefined } from '../../lambdas/support/objects.ts';
import { priceIn, rowOf } from '../price-table.ts';
import type { Note } from './imported.ts';

/** YAML has `100_000`, too. */
const NUMBER = /^\s*-?\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?\s*$/i;

/** The number of a text of digits, which lists and YAML may have in quotes; null of an empty text; otherwise the value. */
export const unquoted = (value: unknown): unknown => {
  if (typeof value !== 'string') return value;
  if (NUMBER.test(value)) return Number(value.replaceAll('_', ''));
  return value.trim() === '' ? null : value;
};

const amount = z.preprocess(unquoted, z.number().nonnegative().nullish()).optional();

/** What LiteLLM says about a model: in `model_info`, in `litellm_params` and in its table of models, prices a token. */
export const Facts = z.looseObject({
  mode: z.string().nullish(),
  max_input_tokens: amount,
  max_output_tokens: amount,
  max_tokens: amount,
  input_cost_per_token: amount,
  output_cost_per_token: amount,
  cache_read_input_token_cost: amount,
  cache_creation_input_token_cost: amount,
  cache_creation_input_token_cost_above_1hr: amount,
  supports_function_calling: z.boolean().nullish(),
  supports_vision: z.boolean().nullish(),
});
export type Facts = z.infer<typeof Facts>;

/** 0.0000025 a token is 2.5 a million, without the error of binary fractions. */
const aMillion = (price: number): number => Number((price * 1e6).toPrecision(12));

/** Kinds of tokens: the member that is their price, and its name in a public table. */
const PRICES = {
  input: ['input_cost_per_token', 'input_mtok'],
  output: ['output_cost_per_token', 'output_mtok'],
  cache_read: ['cache_read_input_token_cost', 'cache_read_mtok'],
  cache_write_5m: ['cache_creation_input_token_cost', 'cache_write_mtok'],
  cache_write_1h: ['cache_creation_input_token_cost_above_1hr', undefined],
} as const;
type Kind = keyof typeof PRICES;
const KINDS = Object.keys(PRICES) as Kind[];

/** `input_cost_per_token_above_200k_tokens` is the price in requests of longer prompts. */
const TIER = /_above_(\d{1,6})k_tokens$/;

const kindOf = (member: string): Kind | undefined =>
  KINDS.find((kind) => PRICES[kind][0] === member.replace(TIER, ''));

export const isPriceMember = (member: string): boolean => kindOf(member) !== undefined;

/** What a version of a target's prices has, but for its day. */
export type Prices = Record<'input' | 'output', number> & { [Name in Kind]?: number } & {
  tiers?: Tier[];
};
type Tier = TokenPrices & { above: number };
export type Known = {
  /** Members of the model in the catalog; a price that is not known is 0. */
  members: Pick<Model, 'context_length' | 'max_output_tokens' | 'streaming' | 'tools' | 'vision'> &
    Pick<Model, 'input_price_per_m' | 'output_price_per_m' | 'cached_input_price_per_m'>;
  /** Undefined if none is known. */
  prices: Prices | undefined;
  assumed: Note[];
};

const CONTEXT = 128_000;
/** What Claude Code asks for; a provider whose model has less states it, and is called again with that. */
const OUTPUT = 32_000;

/** The first value of a member that one of the sources has. */
const firstOf = <Name extends keyof Facts>(sources: Facts[], name: Name) =>
  sources.find((source) => source[name] !== undefined && source[name] !== null)?.[name] ??
  undefined;

type Size = 'max_input_tokens' | 'max_output_tokens' | 'max_tokens';
/** A table may have 0 for what it does not know. */
const sizeOf = (sources: Facts[], name: Size): number | undefined =>
  sources.map((source) => source[name]).find(Boolean) ?? undefined;

type Row = ReturnType<typeof rowOf>;

const priceOf = (sources: Facts[], row: Row, kind: Kind): number | undefined => {
  const [member, name] = PRICES[kind];
  const stated = firstOf(sources, member);
  if (stated !== undefined) return aMillion(stated);
  return name && priceIn(row?.model_price[name]);
};

/** Steps of the source that has the price below them: those of another one are not of its prices. */
const tiersIn = (sources: Facts[]): Tier[] => {
  const source = sources.find(({ input_cost_per_token: price }) => typeof price === 'number');
  const tiers = new Map<number, TokenPrices>();
  for (const [member, stated] of Object.entries(source ?? {})) {
    const [, thousands] = TIER.exec(member) ?? [];
    const kind = kindOf(member);
    const price = unquoted(stated);
    if (!thousands || !kind || typeof price !== 'number' || price < 0) continue;
    const above = Number(thousands) * 1_000;
    tiers.set(above, { ...tiers.get(above), [kind]: aMillion(price) });
  }
  return [...tiers]
    .toSorted(([one], [other]) => one - other)
    .map(([above, prices]) => ({ above, ...prices }));
};

const pricesIn = (sources: Facts[], row: Row): Prices | undefined => {
  const input = priceOf(sources, row, 'input');
  const output = priceOf(sources, row, 'output');
  if (input === undefined || output === undefined) return undefined;
  const [cache_read, cache_write_5m, cache_write_1h] = (
    ['cache_read', 'cache_write_5m', 'cache_write_1h'] as const
  ).map((kind) => priceOf(sources, row, kind));
  const tiers = tiersIn(sources);
  return {
    ...{ input, output },
    ...omitUndefined({ cache_read, cache_write_5m, cache_write_1h }),
    ...(tiers.length > 0 && { tiers }),
  };
};

/** What the sources say about a model, the first of them above the others, and what none of them says. */
export const knownOf = (
  sources: Facts[],
  target: Pick<Target, 'model' | 'baseUrl'>,
  place: string,
): Known => {
  const row = rowOf(target);
  const assumed: Note[] = [];
  const orAssumed = <Value extends number | boolean>(
    member: string,
    known: Value | undefined,
    value: Value,
    reason: string,
  ): Value => {
    if (known !== undefined) return known;
    assumed.push({ place: `${place}.${member}`, reason: `${value}: ${reason}` });
    return value;
  };
  const prices = pricesIn(sources, row);
  if (prices === undefined) {
    const reason =
      'no price is known: costs are marked as incomplete, and requests under a budget get 400';
    assumed.push({ place: `${place}.input_price_per_m`, reason });
  }
  const context = orAssumed(
    'context_length',
    sizeOf(sources, 'max_input_tokens') ?? row?.model.context_window,
    CONTEXT,
    'the file and the table of prices have none',
  );
  const output = sizeOf(sources, 'max_output_tokens') ?? sizeOf(sources, 'max_tokens');
  const [tools, vision] = [
    firstOf(sources, 'supports_function_calling'),
    firstOf(sources, 'supports_vision'),
  ];
  const unlimited = 'the most that a response gets';
  return {
    members: {
      context_length: context,
      max_output_tokens: Math.min(
        context,
        orAssumed('max_output_tokens', output, OUTPUT, unlimited),
      ),
      streaming: true,
      tools: orAssumed('tools', tools, true, 'the provider rejects them if the model has none'),
      vision: orAssumed(
        'vision',
        vision,
        true,
        'the provider rejects images if the model has none',
      ),
      input_price_per_m: prices?.input ?? 0,
      output_price_per_m: prices?.output ?? 0,
      ...(prices?.cache_read !== undefined && { cached_input_price_per_m: prices.cache_read }),
    },
    prices,
    assumed,
  };
};
