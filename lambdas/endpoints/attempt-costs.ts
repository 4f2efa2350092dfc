import { costOf } from '../money/cost.ts';
import { pricesOf } from '../money/prices.ts';
import { billOf, totalOf } from './bill.ts';
import { billPartsOf, type Tried } from './call-record.ts';
import type { CheckedCall } from './check-call.ts';

/** A count of the upstream that is far below the estimate is not yet that of the whole prompt. */
const MIN_COUNTED = 0.5;

/** The costs of attempts, by what their upstreams have counted so far. */
export const createCosts = (checked: CheckedCall) => {
  const { call, model } = checked;
  const parts = billPartsOf(checked);
  return {
    /** As the record of the request has it. */
    total: (tried: readonly Tried[]): number =>
      totalOf(tried.flatMap((used) => billOf(used, parts) ?? []))?.costNanos ?? 0,
    before: (used: Tried, tried: readonly Tried[]): number =>
      tried.reduce(
        (sum, other) => sum + (other === used ? 0 : (billOf(other, parts)?.cost.nanos ?? 0)),
        0,
      ),
    /** Undefined until the upstream has counted its input. */
    input: ({ target, usage }: Tried): number | undefined => {
      const { inputTokens = 0 } = usage ?? {};
      if (inputTokens < parts.estimateInput(target) * MIN_COUNTED) return undefined;
      const billed = { ...usage, ...usage?.billing, inputTokens, outputTokens: 0 };
      return costOf(billed, pricesOf(model, target), call.startedAt).nanos;
    },
  };
};

/** Most providers send a token an event, of at most so many characters of ASCII; */
const LONGEST_TOKEN = 8;
/** a longer text has at most one in so many. Any other character may be a token. */
const CHARACTERS_PER_TOKEN = 3;

/** An upper estimate of the tokens of a text that was generated. */
export const tokensIn = (text: string): number => {
  let others = 0;
  for (let index = 0; index < text.length; index += 1)
    if (text.charCodeAt(index) > 127) others += 1;
  const ascii = text.length - others;
  return others + (ascii > LONGEST_TOKEN ? ascii / CHARACTERS_PER_TOKEN : Math.min(1, ascii));
};
