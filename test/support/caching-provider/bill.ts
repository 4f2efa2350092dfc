/** Input tokens of one request by what they cost. */
export type Bill = { fresh: number; read: number; written5m: number; written1h: number };

/** A request that a provider has seen. `start` in ms. */
export type Billed = Bill & {
  start: number;
  /** The credential, whose account has its own cache. */
  account: string;
  /** How many marks the request had. */
  marks: number;
  /** As it was received. */
  body: string;
  headers: Record<string, string>;
};

export type Prices = { read: number; written5m: number; written1h: number };

/** In prices of a fresh input token. */
export const ANTHROPIC: Prices = { read: 0.1, written5m: 1.25, written1h: 2 };
/** Before GPT-5.6. */
export const OPENAI: Prices = { read: 0.1, written5m: 1, written1h: 1 };
export const GPT_5_6: Prices = { read: 0.1, written5m: 1.25, written1h: 1.25 };

export const tokensOf = ({ fresh, read, written5m, written1h }: Bill): number =>
  fresh + read + written5m + written1h;

/** What the requests cost, in prices of a fresh input token. */
export const billedInput = (bills: Bill[], prices: Prices): number =>
  bills.reduce(
    (sum, { fresh, read, written5m, written1h }) =>
      sum +
      fresh +
      read * prices.read +
      written5m * prices.written5m +
      written1h * prices.written1h,
    0,
  );

/** What they would cost without any cache. */
export const unmarkedInput = (bills: Bill[]): number =>
  bills.reduce((sum, bill) => sum + tokensOf(bill), 0);

/** Four characters a token, which is near enough: both sides of a comparison are counted so. */
export const tokensIn = (text: string): number => Math.ceil(text.length / 4);

/** One provider's rules: what a request is billed, and what it leaves in the cache of its account. */
export type CacheRules = {
  /** Reads, and renews what it reads. `end` is called when the response begins: from then on others read what it wrote. */
  open(body: string, account: string, now: number): Opening;
  /** Forgets everything, as a provider may at any time. */
  evict(): void;
};

export type Opening =
  | { rejection: string }
  | { rejection?: undefined; bill: Bill; marks: number; begin(): void };
