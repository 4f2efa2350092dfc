/** What an upstream asks for, in US dollars: of tokens per million, of uses each. Null: it bills them at a price that is unknown. */
export const TOKEN_KINDS = [
  'input',
  'cache_read',
  'cache_write_5m',
  'cache_write_30m',
  'cache_write_1h',
  'cache_write_12h',
  'input_audio',
  'input_image',
  'output',
  'reasoning',
  'output_audio',
] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];
export type TokenPrices = { [Kind in TokenKind]?: number | null | undefined };
/** A factor on every price of tokens, by the value that an answer states. */
type Factors = Record<string, number | null>;

export type PriceVersion = TokenPrices & {
  /** UTC day from which it holds. */
  from: string;
  /** Of a request whose whole prompt has more tokens than `above`; what a tier does not name stays. */
  tiers?: readonly (TokenPrices & { above: number })[] | undefined;
  /** By the service tier or the speed of an answer. */
  service?: Factors | undefined;
  /** By the region of an answer. */
  geo?: Factors | undefined;
  /** Of tools that the provider runs: `web_search`. */
  uses?: Record<string, number | null> | undefined;
};

/** Prices of a target, as its catalog entry has them. */
export type Prices = {
  /** A negotiated discount, or a surcharge. @default 1 */
  factor?: number | undefined;
  /** In the order of their days. */
  versions: readonly PriceVersion[];
};

/** The public prices of a model, for targets without their own. */
export type PublicPrices = {
  input_price_per_m: number;
  output_price_per_m: number;
  cached_input_price_per_m?: number | undefined;
};
