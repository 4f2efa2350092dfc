/** What a provider's response states of one of its limits. */
export type ProviderLimit = {
  of: 'requests' | 'tokens' | 'input' | 'output';
  per: 'minute' | 'hour' | 'day';
  remaining: number;
  limit?: number | undefined;
  /** Milliseconds since the epoch. */
  resetAt?: number | undefined;
};

/** As a record keeps them: `requests/minute 59/60, tokens/minute 149984/150000`. */
export const limitsText = (limits: ProviderLimit[]): string =>
  limits
    .map(
      ({ of, per, remaining, limit }) =>
        `${of}/${per} ${remaining}${limit === undefined ? '' : `/${limit}`}`,
    )
    .join(', ');
