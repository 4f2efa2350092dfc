import { nanosOf } from '../support/public-usage.ts';
import { asCount, asNumber, asRecord, type Json } from './bytes/json.ts';

/** Ten billionths of a dollar. */
const TICKS_PER_NANO = 10;

/**
 * Perplexity states a sum with its parts. With a key of the operator's, OpenRouter states its fee, and apart what the provider
 * of the key bills. NaN: it does not state all.
 */
const dollarsIn = ({ cost, is_byok: isByok, cost_details: details }: Json): number => {
  const { total_cost: total = cost, currency = 'USD' } = asRecord(cost) ?? {};
  const apart = isByok === true ? asNumber(asRecord(details)?.upstream_inference_cost) : 0;
  return currency === 'USD' ? (asNumber(total) ?? Number.NaN) + (apart ?? Number.NaN) : Number.NaN;
};

/** What a provider says in its usage that the request costs, in billionths of a US dollar; undefined if it says nothing. */
export const statedNanosIn = (usage: Json): number | undefined => {
  const dollars = dollarsIn(usage);
  if (dollars >= 0) return nanosOf(dollars);
  const stated = asCount(usage.cost_in_usd_ticks);
  return stated === undefined ? undefined : Math.round(stated / TICKS_PER_NANO);
};
