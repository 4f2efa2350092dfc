import { type Model, pricesOf, type Target } from '../catalog/catalog.ts';
import { addKinds, type Cost, costOf, type KindCosts } from '../money/cost.ts';
import type { Usage } from '../protocols/generation.ts';

/** What was generated, as far as its events have said. */
export type Counts = {
  /** The latest counts of the upstream. */
  usage?: Partial<Usage> | undefined;
  /** Of what it generated. */
  characters: number;
  /** An upper estimate of its tokens, under a budget: it has leased no more than these. */
  mostTokens?: number | undefined;
  /** The counts are the last ones. */
  isFinal: boolean;
  /** What the first copies of a request that was sent again may have cost. */
  repeatedNanos?: number;
};

/** What one attempt used. */
export type Used = Counts & { target: Target };

/** Rough size of a token in responses, for upstreams that report no usage. */
const CHARACTERS_PER_TOKEN = 4;

const estimateOutput = ({
  characters,
  mostTokens = characters,
}: Pick<Counts, 'characters' | 'mostTokens'>): number =>
  Math.ceil(Math.min(characters / CHARACTERS_PER_TOKEN, mostTokens));

/** Zero means that nothing was counted, unless the upstream has only shortened the conversation. */
const isCounted = ({ billing, inputTokens, outputTokens }: Partial<Usage> = {}): boolean =>
  billing?.compactions !== undefined || Boolean(inputTokens && outputTokens);

/** Whether anything is counted that an upstream bills: a prompt, audio, or uses of tools. */
const isBegun = ({ billing, inputTokens, outputTokens }: Partial<Usage> = {}): boolean =>
  inputTokens !== undefined || outputTokens !== undefined || billing?.uses !== undefined;

/** Fills in usage that the upstream did not report: every protocol requires it, and so does a price. */
export const completeUsage = (
  usage: Partial<Usage> | undefined,
  counts: Counts,
  estimateInput: () => number,
): Usage =>
  isCounted(usage)
    ? { inputTokens: 0, outputTokens: 0, ...usage }
    : {
        ...usage,
        inputTokens: usage?.inputTokens || estimateInput(),
        outputTokens: usage?.outputTokens || estimateOutput(counts),
      };

/** Counts that are not the last ones have few of the tokens that were generated since. */
const latestUsage = ({ usage, isFinal, ...generation }: Counts): Counts['usage'] => {
  const generated = estimateOutput(generation);
  if (isFinal || (usage?.outputTokens ?? 0) >= generated) return usage;
  return { ...usage, outputTokens: generated };
};

/** What an upstream bills for an attempt, and what that costs at the prices of its target. */
export type Bill = { usage: Usage; cost: Cost; isEstimated: boolean };

export type BillParts = {
  model: Model;
  /** Milliseconds since the epoch: prices change. */
  startedAt: number;
  estimateInput(target: Target): number;
};

/** Most likely no provider has read the copies. Its bill says more than the record can. */
const withRepeats = (cost: Cost, { repeatedNanos }: Counts): Cost => {
  if (repeatedNanos === undefined) return cost;
  const kinds: KindCosts = { ...cost.kinds, repeated_request: [1, repeatedNanos] };
  return { ...cost, kinds, nanos: cost.nanos + repeatedNanos };
};

const NOTHING: Pick<Bill, 'usage' | 'cost'> = {
  usage: { inputTokens: 0, outputTokens: 0 },
  cost: { nanos: 0, source: 'priced', incomplete: [] },
};

/** Undefined for an attempt that generated nothing. */
export const billOf = (used: Used, { model, startedAt, ...parts }: BillParts): Bill | undefined => {
  const { target, usage: reported, characters, isFinal, repeatedNanos } = used;
  if (!isFinal && !isBegun(reported) && characters === 0) {
    if (repeatedNanos === undefined) return undefined;
    return { ...NOTHING, cost: withRepeats(NOTHING.cost, used), isEstimated: true };
  }
  const usage = completeUsage(latestUsage(used), used, () => parts.estimateInput(target));
  const cost = costOf({ ...usage, ...usage.billing }, pricesOf(model, target), startedAt);
  return {
    usage,
    cost: withRepeats(cost, used),
    isEstimated:
      repeatedNanos !== undefined ||
      (cost.source !== 'stated' && !(isFinal && isCounted(reported))),
  };
};

export type TotalCost = {
  costNanos: number;
  costSource: 'stated' | 'priced' | 'estimated';
  costIncomplete?: string[];
  costKinds?: KindCosts;
  priceVersion?: string;
};

/** Undefined if no attempt generated anything. */
export const totalOf = (bills: Bill[]): TotalCost | undefined => {
  const last = bills.at(-1);
  if (!last) return undefined;
  const kinds: KindCosts = {};
  for (const { cost } of bills) addKinds(kinds, cost.kinds);
  const incomplete = [...new Set(bills.flatMap(({ cost }) => cost.incomplete))];
  const isStated = bills.every(({ cost }) => cost.source === 'stated');
  const source = isStated ? 'stated' : 'priced';
  return {
    costNanos: bills.reduce((sum, { cost }) => sum + cost.nanos, 0),
    costSource: bills.some(({ isEstimated }) => isEstimated) ? 'estimated' : source,
    ...(incomplete.length > 0 && { costIncomplete: incomplete }),
    ...(!isStated && { costKinds: kinds }),
    ...(last.cost.version !== undefined && { priceVersion: last.cost.version }),
  };
};
