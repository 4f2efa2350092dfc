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

/** The item rounds needs and levels. */
const ROUNDED = 1.001;

/**
 * Law 4: what two flows got that waited all the time, by their weights, differs by one request of each at most. That is the bound of
 * start-time fair queueing. What is kept free for one but not sent adds what the quota gives the other in that time, `keptMs`, up to a
 * request of each: a faster clock sees room before the process does for which it is kept, and one that died does not send.
 */
export const checkFairness = (log: Log, keptMs: number): string[] => {
  const { quota, arrivals, waits } = log;
  const flows = [...new Set(arrivals.map(({ ask }) => ask.flow))].map((name) => {
    const asks = arrivals.flatMap(({ ask }) => (ask.flow === name ? [ask] : []));
    const largest = Math.max(...asks.map((ask) => costOf(quota, ask)));
    const weight = Math.min(...asks.map((ask) => ask.weight));
    return { name, largest, weight, spans: spansOf(waits, name) };
  });
  const given = (keptMs * rateOf(quota, 'tokens')) / (quota.limits.tokens ?? 1);
  return flows.flatMap((one, index) =>
    flows.slice(index + 1).flatMap((other) => {
      const ofEach = one.largest + other.largest;
      const most = ofEach + Math.min(ofEach, given / Math.min(one.weight, other.weight));
      const names: [string, string] = [one.name, other.name];
      const drifts = overlaps(one.spans, other.spans).map((span) => driftIn(log, names, span));
      const worst = Math.max(0, ...drifts) / ROUNDED;
      return worst > most ? [`${names.join(' and ')} differ by ${worst}, at most ${most}`] : [];
    }),
  );
};
