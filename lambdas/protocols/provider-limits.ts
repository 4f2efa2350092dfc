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

const TEXT = /^(\w+)\/(\w+) (\d+)(?:\/(\d+))?$/;

/** The limits in a text of `limitsText`, with their words as they are. */
export const limitsIn = (text: string) =>
  text.split(', ').flatMap((one) => {
    const [, of, per, remaining, limit] = TEXT.exec(one) ?? [];
    return of === undefined || per === undefined
      ? []
      : [{ of, per, remaining: Number(remaining), limit: limit ? Number(limit) : undefined }];
  });
