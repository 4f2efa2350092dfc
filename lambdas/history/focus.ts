import { TOKEN_KINDS } from '../money/prices.ts';
import type { UsageRow } from '../stores/history-store.ts';
import { DAY_MS, formatInstant } from '../support/clock.ts';
import { decimalOf } from '../support/decimal.ts';

/** Version of the FinOps Open Cost and Usage Specification whose columns these are. */
export const FOCUS_VERSION = '1.4';
export type FocusRow = Record<string, string | null>;

export type FocusNames = {
  /** The account that pays the providers. */
  account: string;
  /** Who serves a model of the catalog. */
  providerOf(model: string): string;
  nameOf(keyId: string): string | undefined;
};

const isTokens = (kind: string): boolean => TOKEN_KINDS.some((token) => token === kind);

/** `cache_write_5m` as `Cache write 5m`. */
const meterOf = (kind: string): string =>
  (kind[0] ?? '').toUpperCase() + kind.slice(1).replaceAll('_', ' ');

const monthAfter = (day: string): string => {
  const [year = 0, month = 0] = day.split('-').map(Number);
  return formatInstant(Date.UTC(year, month));
};

const periodsOf = (day: string) => ({
  BillingPeriodEnd: monthAfter(day),
  BillingPeriodStart: `${day.slice(0, 7)}-01T00:00:00Z`,
  ChargePeriodEnd: formatInstant(Date.parse(day) + DAY_MS),
  ChargePeriodStart: `${day}T00:00:00Z`,
});

/** Quantity, unit and price; null of a cost that its provider stated in one sum. */
const pricingOf = (kind: string, quantity: number | undefined, nanos: number) => {
  const amount = quantity === undefined ? null : String(quantity);
  const unit = quantity === undefined ? null : isTokens(kind) ? 'Tokens' : 'Requests';
  // A kind without a price has costs of 0, and a price that is not known.
  const price =
    quantity && nanos > 0 ? decimalOf((BigInt(nanos) * 10n ** 9n) / BigInt(quantity), 18) : null;
  return {
    ConsumedQuantity: amount,
    ConsumedUnit: unit,
    ContractedUnitPrice: price,
    ListUnitPrice: price,
    PricingCategory: 'Standard',
    PricingCurrency: 'USD',
    PricingQuantity: amount,
    PricingUnit: unit,
  };
};

const rowOf = (
  { projectId, day, keyId, model, incompleteRequests = 0 }: UsageRow,
  { kind, quantity, nanos }: { kind: string; quantity?: number; nanos: number },
  { account, providerOf, nameOf }: FocusNames,
): FocusRow => {
  const cost = decimalOf(BigInt(nanos), 9);
  const provider = providerOf(model);
  return {
    BilledCost: cost,
    BillingAccountId: account,
    BillingAccountName: account,
    BillingAccountType: 'Account',
    BillingCurrency: 'USD',
    ChargeCategory: 'Usage',
    ChargeClass: null,
    ChargeDescription: `${meterOf(kind)} of ${model}`,
    ChargeFrequency: 'Usage-Based',
    ContractedCost: cost,
    EffectiveCost: cost,
    HostProviderName: provider,
    InvoiceDetailId: null,
    InvoiceId: null,
    InvoiceIssuerName: provider,
    ListCost: cost,
    ...periodsOf(day),
    ...pricingOf(kind, quantity, nanos),
    ResourceId: keyId,
    ResourceName: nameOf(keyId) ?? null,
    ResourceType: 'API key',
    ServiceCategory: 'AI and Machine Learning',
    ServiceName: model,
    ServiceProviderName: provider,
    ServiceSubcategory: 'Generative AI',
    SkuId: `${model}/${kind}`,
    SkuMeter: meterOf(kind),
    SkuPriceDetails: null,
    SkuPriceId: `${model}/${kind}`,
    SubAccountId: projectId,
    SubAccountName: projectId,
    SubAccountType: 'Project',
    Tags: null,
    x_IncompleteRequests: String(incompleteRequests),
    x_Kind: kind,
  };
};

/** Of costs that providers stated, and of rows that an older version wrote: without a quantity. */
const STATED = 'stated';

/** A row for each kind, whose costs add up to that of the day, the key and the model. */
export const focusRowsOf = (row: UsageRow, names: FocusNames): FocusRow[] => {
  const kinds = Object.entries(row.kinds ?? {});
  const stated = row.costNanos - kinds.reduce((sum, [, [, nanos]]) => sum + nanos, 0);
  return [
    ...kinds.map(([kind, [quantity, nanos]]) => rowOf(row, { kind, quantity, nanos }, names)),
    ...(stated === 0 ? [] : [rowOf(row, { kind: STATED, nanos: stated }, names)]),
  ];
};
