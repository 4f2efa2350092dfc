export type Owned = {
  upstream: string;
  model: string;
  account?: string | undefined;
  secret?: string | undefined;
  quota?: { per?: 'model' | 'account' | undefined } | undefined;
};

/** Whose money and whose limits at the provider a call of the target uses. */
export const accountOf = ({ account, upstream, secret = '' }: Omit<Owned, 'quota'>): string =>
  account ?? `${upstream} ${secret}`;

/** The name of the quota of a target, by which all processes know it. */
export const quotaNameOf = (target: Owned): string =>
  target.quota?.per === 'account' ? accountOf(target) : `${accountOf(target)} ${target.model}`;
