/** What a provider limits; input and output are tokens, `tokens` their sum. */
export const QUOTA_KINDS = ['requests', 'tokens', 'input', 'output'] as const;
export type Amounts = { [Kind in (typeof QUOTA_KINDS)[number]]?: number };

export type Quota = { limits: Amounts };

/** A provider counts a little differently, and other programs may use its key. With 0.99 tenants wait unevenly in simulation. */
const SHARE_USED = 0.98;
const BURST_MS = 5_000;
export const kindsOf = ({ limits }: Quota) =>
  QUOTA_KINDS.filter((kind) => limits[kind] !== undefined);

export const rateOf = ({ limits }: Quota, kind: keyof Amounts): number =>
  (SHARE_USED * (limits[kind] ?? 0)) / 60_000;
export const burstOf = (quota: Quota, kind: keyof Amounts): number =>
  rateOf(quota, kind) * BURST_MS;

export const mapKinds = (quota: Quota, amountOf: (kind: keyof Amounts) => number): Amounts =>
  Object.fromEntries(kindsOf(quota).map((kind) => [kind, amountOf(kind)]));

export const minus = (quota: Quota, one: Amounts, other: Amounts): Amounts =>
  mapKinds(quota, (kind) => (one[kind] ?? 0) - (other[kind] ?? 0));

/** Of what may be sent at once, of what is scarcest; undefined for a quota of which nothing is learned. */
export const percentLeft = (quota: Quota, levels: Amounts): number | undefined => {
  const parts = kindsOf(quota).map((kind) => (levels[kind] ?? 0) / burstOf(quota, kind));
  return parts.length > 0 ? Math.round(100 * Math.max(0, Math.min(...parts))) : undefined;
};

/** The same kinds, with other amounts. */
export const mapAmounts = (
  amounts: Amounts,
  amountOf: (amount: number, kind: keyof Amounts) => number,
): Amounts =>
  Object.fromEntries(
    QUOTA_KINDS.flatMap((kind) => {
      const amount = amounts[kind];
      return amount === undefined ? [] : [[kind, amountOf(amount, kind)]];
    }),
  );

type Declared = Partial<Record<'rpm' | 'tpm' | 'itpm' | 'otpm', number | undefined>>;

/** The members of a target's quota by what they limit. */
export const limitsOf = ({ rpm, tpm, itpm, otpm }: Declared): Amounts => ({
  ...(rpm !== undefined && { requests: rpm }),
  ...(tpm !== undefined && { tokens: tpm }),
  ...(itpm !== undefined && { input: itpm }),
  ...(otpm !== undefined && { output: otpm }),
});
