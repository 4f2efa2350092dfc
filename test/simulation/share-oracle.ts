import { type Ask, costOf } from '../../lambdas/routing/shares/fair-queue.ts';
import { burstOf, type Quota } from '../../lambdas/routing/shares/quota.ts';

export type Arrival = { at: number; ask: Ask; patienceMs: number };
type Served = Arrival & { servedAt: number };

const KINDS = ['tokens', 'requests'] as const;
const STEP_MS = 10;

/** The bucket of the shares, in steps. */
const createBucket = (quota: Quota) => {
  const kinds = KINDS.filter((kind) => quota.limits[kind] !== undefined);
  const levels = new Map(kinds.map((kind) => [kind, burstOf(quota, kind)]));
  const add = (kind: (typeof KINDS)[number], amount: number) =>
    levels.set(kind, Math.min(burstOf(quota, kind), (levels.get(kind) ?? 0) + amount));
  return {
    hasRoom: ({ amounts }: Ask): boolean =>
      kinds.every(
        (kind) =>
          (levels.get(kind) ?? 0) + 1e-6 >= Math.min(amounts[kind] ?? 0, burstOf(quota, kind)),
      ),
    take: ({ amounts }: Ask): void => {
      for (const kind of kinds) add(kind, -(amounts[kind] ?? 0));
    },
    step: (): void => {
      for (const kind of kinds) add(kind, (burstOf(quota, kind) / 5_000) * STEP_MS);
    },
  };
};

/** Those that wait, by the tags of their flows. */
const createRow = () => {
  const tags = new Map<string, number>();
  let waiting: Arrival[] = [];
  let floor = 0;
  const tagOf = ({ ask }: Arrival): number => tags.get(ask.flow) ?? 0;
  return {
    isEmpty: () => waiting.length === 0,
    join: (one: Arrival): void => {
      const isAlone = !waiting.some(({ ask }) => ask.flow === one.ask.flow);
      if (isAlone) tags.set(one.ask.flow, Math.max(floor, tagOf(one)));
      waiting.push(one);
    },
    first: (): Arrival | undefined => {
      let first = waiting[0];
      for (const one of waiting) if (first && tagOf(one) < tagOf(first)) first = one;
      if (first) floor = Math.max(floor, tagOf(first));
      return first;
    },
    serve: (one: Arrival, cost: number): void => {
      tags.set(one.ask.flow, tagOf(one) + cost);
      waiting = waiting.filter((other) => other !== one);
    },
    leave: (now: number): void => {
      waiting = waiting.filter(({ at, patienceMs }) => at + patienceMs > now);
    },
  };
};

/**
 * What a perfect scheduler serves of the same requests: it alone decides, knows all that wait, and decides at once. Start-time
 * fair queueing over the same bucket, in steps of 10 ms; the first request of the flow with the lowest tag is never overtaken.
 */
export const serveCentrally = (quota: Quota, arrivals: Arrival[]): Served[] => {
  const served: Served[] = [];
  const bucket = createBucket(quota);
  const row = createRow();
  let next = 0;
  for (let now = arrivals[0]?.at ?? 0; next < arrivals.length || !row.isEmpty(); now += STEP_MS) {
    for (let one = arrivals[next]; one && one.at <= now; one = arrivals[next]) {
      next += 1;
      row.join(one);
    }
    for (let first = row.first(); first && bucket.hasRoom(first.ask); first = row.first()) {
      bucket.take(first.ask);
      row.serve(first, costOf(quota, first.ask));
      served.push({ ...first, servedAt: now });
    }
    row.leave(now);
    bucket.step();
  }
  return served;
};
