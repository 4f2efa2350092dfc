import { nanosOf } from '../support/public-usage.ts';
import { asCount, asNumber, type Json } from './bytes/json.ts';

/** Ten billionths of a dollar. */
const TICKS_PER_NANO = 10;

/** What a provider says in its usage that the request costs, in billionths of a US dollar; undefined if it says nothing. */
export const statedNanosIn = ({ cost, cost_in_usd_ticks: ticks }: Json): number | undefined => {
  const dollars = asNumber(cost);
  if (dollars !== undefined && dollars >= 0) return nanosOf(dollars);
  const stated = asCount(ticks);
  return stated === undefined ? undefined : Math.round(stated / TICKS_PER_NANO);
};
