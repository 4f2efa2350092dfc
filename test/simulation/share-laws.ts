import { costOf } from '../../lambdas/routing/shares/fair-queue.ts';
import type { NamedQuota } from '../../lambdas/routing/shares/look.ts';
import { burstOf } from '../../lambdas/routing/shares/quota.ts';
import type { Arrival } from './share-oracle.ts';

/** A request that reached the provider, in its own log. */
export type Sent = Arrival & { sentAt: number; isUnchecked: boolean };

/** A request of a flow waited. */
export type Wait = { flow: string; from: number; to: number };

/** The provider's log, and who waited. */
export type Log = { quota: NamedQuota; arrivals: Arrival[]; sent: Sent[]; waits: Wait[] };

export const KINDS = ['tokens', 'requests'] as const;
type Kind = (typeof KINDS)[number];
export const amountIn = ({ ask }: Arrival, kind: Kind): number => ask.amounts[kind] ?? 0;

/** A millisecond. */
export const rateOf = (quota: NamedQuota, kind: Kind) => burstOf(quota, kind) / 5_000;

/**
 * Law 1: what the provider was sent in any minute. The last request may be above what the bucket holds; clocks `spanMs` apart
 * move as much of the rate.
 */
export const checkWindows = ({ quota, sent }: Log, spanMs: number): string[] => {
  const checked = sent.filter(({ isUnchecked }) => !isUnchecked);
  return KINDS.filter((kind) => quota.limits[kind] !== undefined).flatMap((kind) => {
    const burst = burstOf(quota, kind);
    const largest = Math.max(0, ...checked.map((one) => amountIn(one, kind) - burst));
    const most = rateOf(quota, kind) * (60_000 + spanMs) + burst + largest + 1;
    return checked.flatMap(({ sentAt }, index) => {
      const within = checked.slice(index).filter((one) => one.sentAt < sentAt + 60_000);
      const sum = within.reduce((total, one) => total + amountIn(one, kind), 0);
      return sum > most ? [`${sum} ${kind} in a minute, at most ${Math.round(most)}`] : [];
    });
  });
};

type Span = [from: number, to: number];

/** When at least one request of a flow waited. */
const spansOf = (waits: Wait[], flow: string): Span[] => {
  const spans: Span[] = [];
  const own = waits.filter((one) => one.flow === flow);
  for (const { from, to } of own.toSorted((one, other) => one.from - other.from)) {
    const last = spans.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else spans.push([from, to]);
  }
  return spans;
};

const overlaps = (ones: Span[], others: Span[]): Span[] =>
  ones.flatMap((one) =>
    others.flatMap((other): Span[] => {
      const [from, to] = [Math.max(one[0], other[0]), Math.min(one[1], other[1])];
      return from < to ? [[from, to]] : [];
    }),
  );

/** How far two flows drift apart between two instants, by what each got for its weight. */
const driftIn = ({ quota, sent }: Log, flows: [string, string], [from, to]: Span): number => {
  let [difference, low, high] = [0, 0, 0];
  for (const { sentAt, ask } of sent) {
    if (sentAt <= from || sentAt >= to) continue;
    const sign = ask.flow === flows[0] ? 1 : ask.flow === flows[1] ? -1 : 0;
    difference += sign * costOf(quota, ask);
    low = Math.min(low, difference);
    high = Math.max(high, difference);
  }
  return high - low;
};

/**
 * Law 4: what two flows got that waited all the time, by their weights, differs by `requests` of each at most: by one, and by two
 * until processes whose clocks are apart have met, while the place of one that died is kept, or where one does not look yet (for 2 s at
 * most) after those before it left.
 */
export const checkFairness = (log: Log, requests: number): string[] => {
  const { quota, arrivals, waits } = log;
  const flows = [...new Set(arrivals.map(({ ask }) => ask.flow))];
  const costs = (flow: string) =>
    arrivals.filter(({ ask }) => ask.flow === flow).map(({ ask }) => costOf(quota, ask));
  const largest = new Map(flows.map((flow) => [flow, Math.max(...costs(flow))]));
  const spans = new Map(flows.map((flow) => [flow, spansOf(waits, flow)]));
  return flows.flatMap((one, index) =>
    flows.slice(index + 1).flatMap((other) => {
      const most = 1.001 * requests * ((largest.get(one) ?? 0) + (largest.get(other) ?? 0));
      const both = overlaps(spans.get(one) ?? [], spans.get(other) ?? []);
      const drifts = both.map((span) => driftIn(log, [one, other], span));
      const worst = Math.max(0, ...drifts);
      return worst > most ? [`${one} and ${other} differ by ${worst}, at most ${most}`] : [];
    }),
  );
};
