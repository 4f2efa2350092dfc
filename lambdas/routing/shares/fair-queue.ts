import { type Amounts, burstOf, kindsOf, mapKinds, minus, type Quota, rateOf } from './quota.ts';

/** Requests of one tenant, which share its weight. */
type Flow = {
  /** Virtual time, in minutes of the quota by weight: what the flow got since it last was level with those that wait. */
  tag: number;
  /** Milliseconds since the epoch. */
  seen: number;
  /** Without one for each process, a flow that waits in several would lose its credit with each request that one of them sends. */
  places: Place[];
};

/**
 * What the first request of a flow that waits in the process `by` needs, and until when it is kept free. `isLate`: that time was over for
 * another process, whose clock may be ahead of what `by` knows of the others; it is kept once more, so that `by` looks before it ends.
 */
type Place = { by: string; until: number; needs: Amounts; weight: number; isLate?: boolean };

/** What all processes share of a quota. The tags are relative to the lowest of a flow that waits. */
export type Queue = {
  at: number;
  levels: Amounts;
  flows: Record<string, Flow>;
  /** Of a learned quota. */
  limits?: Amounts;
};

export type Ask = { flow: string; weight: number; amounts: Amounts };

/** `leftMs`: how long it waits yet. No place is kept for one that has to wait longer. */
export type Asking = { ask: Ask; leftMs: number };

/** What became known after a request was admitted: what it counted above its estimate, and what is left at the provider. */
export type Correction = Ask & { at?: number } & Stated;
/** By a response. */
export type Stated = { remaining?: Amounts | undefined; limits?: Amounts | undefined };

/** Longer than the pause between two looks. */
const PLACE_MS = 2_500;
const FORGET_MS = 30_000;
/** Of one flow: the item has to stay small, and other processes take the places that become free. */
const MAX_PLACES = 4;
/** Stored levels are rounded to thousandths. */
const EXACTNESS = 0.002;

/** The share of a minute's quota that a request takes of what is scarcest for it. */
export const costOf = (quota: Quota, { amounts, weight }: Omit<Ask, 'flow'>): number =>
  Math.max(0, ...kindsOf(quota).map((kind) => (amounts[kind] ?? 0) / (quota.limits[kind] ?? 1))) /
  weight;

/** A clock that is behind that of the last writer adds nothing; one that is ahead adds at most a burst. */
const refilled = (before: Queue | undefined, quota: Quota, now: number): Queue => {
  const at = Math.max(now, before?.at ?? 0);
  const passed = at - (before?.at ?? 0);
  const levels = mapKinds(quota, (kind) => {
    const burst = burstOf(quota, kind);
    return Math.min(burst, (before?.levels[kind] ?? burst) + passed * rateOf(quota, kind));
  });
  const flows = Object.entries(before?.flows ?? {}).flatMap(([name, flow]) => {
    if (flow.seen < at - FORGET_MS) return [];
    const places = flow.places.flatMap((one): Place[] => {
      if (one.until >= at) return [one];
      return one.isLate ? [] : [{ ...one, until: at + PLACE_MS, isLate: true }];
    });
    return [[name, { ...flow, places }] as const];
  });
  return { at, levels, flows: Object.fromEntries(flows) };
};

const isWaiting = ({ places }: Flow): boolean => places.length > 0;

/** What is left now, and how many flows wait. */
export const stateOf = (queue: Queue | undefined, quota: Quota, now: number) => {
  const { levels, flows } = refilled(queue, quota, now);
  const waiting = Object.values(flows).filter(isWaiting).length;
  return { left: mapKinds(quota, (kind) => Math.max(0, levels[kind] ?? 0)), waiting };
};

const correct = (queue: Queue, correction: Correction, quota: Quota, now: number): void => {
  const { flow, amounts, remaining = {}, at = now } = correction;
  queue.levels = mapKinds(quota, (kind) => {
    const level = (queue.levels[kind] ?? 0) - (amounts[kind] ?? 0);
    // The provider may lower what is left, never raise it: others use its key, or it counts more.
    const since = Math.max(0, now - at) * rateOf(quota, kind);
    const most = Math.min(
      burstOf(quota, kind),
      since + (remaining[kind] ?? Number.POSITIVE_INFINITY),
    );
    return Math.max(-(quota.limits[kind] ?? 0), Math.min(most, level));
  });
  const known = queue.flows[flow];
  const shares = kindsOf(quota)
    .map((kind) => (amounts[kind] ?? 0) / (quota.limits[kind] ?? 1))
    .filter((share) => share !== 0);
  if (known && shares.length > 0) known.tag += Math.max(...shares) / correction.weight;
};

/** A request above the burst passes when as much is there as can be. */
const fits = (quota: Quota, free: Amounts, amounts: Amounts): boolean =>
  kindsOf(quota).every(
    (kind) => (free[kind] ?? 0) + EXACTNESS >= Math.min(amounts[kind] ?? 0, burstOf(quota, kind)),
  );

const waitFor = (quota: Quota, free: Amounts, amounts: Amounts): number =>
  Math.max(
    1,
    ...kindsOf(quota).map((kind) => {
      const missing = Math.min(amounts[kind] ?? 0, burstOf(quota, kind)) - (free[kind] ?? 0);
      return Math.ceil(missing / rateOf(quota, kind));
    }),
  );

/** What a request needs that waits in this process, where it has an index, or first in another one. */
type Head = Omit<Ask, 'flow'> & { leftMs: number; index?: number };

/** What waits of one flow, in the order in which it passes. */
type Row = { flow: Flow; tag: number; heads: Head[] };

/** In the order in which they began to wait, in which all processes break ties. A flow that was away has no credit from that time. */
const rowsOf = (queue: Queue, asks: readonly Asking[], by: string): Row[] => {
  const indexed = asks.map(({ ask, leftMs }, index) => ({ ...ask, leftMs, index }));
  const own = Map.groupBy(indexed, ({ flow }) => flow);
  for (const name of own.keys()) {
    queue.flows[name] = { tag: 0, places: [], ...queue.flows[name], seen: queue.at };
  }
  return Object.entries(queue.flows).map(([name, flow]) => {
    const [first, ...later] = own.get(name) ?? [];
    const heads = flow.places.flatMap(({ needs: amounts, weight, ...one }): Head[] => {
      if (one.by !== by) return [{ amounts, weight, leftMs: Number.POSITIVE_INFINITY }];
      return first ? [first] : [];
    });
    if (first && !heads.includes(first)) heads.push(first);
    return { flow, tag: Math.max(0, flow.tag), heads: [...heads, ...later] };
  });
};

const lowest = (rows: Row[]): Row | undefined => {
  let found: Row | undefined;
  for (const row of rows) {
    if (row.heads.length === 0) continue;
    if (!found || row.tag < found.tag) found = row;
  }
  return found;
};

/** Tags are relative to the lowest that waits; where none waits, all are level. */
const levelled = ({ flows, ...queue }: Queue): Queue => {
  const all = Object.entries(flows);
  const waiting = all.filter(([, flow]) => isWaiting(flow));
  const floor = Math.min(...waiting.map(([, { tag }]) => tag));
  const kept = all.filter(([, flow]) => isWaiting(flow) || flow.tag > floor);
  return {
    ...queue,
    flows: Object.fromEntries(
      kept.map(([name, flow]) => [name, { ...flow, tag: flow.tag - floor }]),
    ),
  };
};

/** What has room in another process, which has not looked yet, holds up none of its flow. */
const takeNext = ({ heads }: Row, quota: Quota, free: Amounts): Head | undefined => {
  const own = heads.findIndex(({ index }) => index !== undefined);
  const hasRoom = own > 0 && fits(quota, free, heads[0]?.amounts ?? {});
  return heads.splice(hasRoom ? own : 0, 1)[0];
};

/** Takes all in the order of their tags; the first of each flow that was blocked, and how long each ask waits at least. */
const admit = (queue: Queue, rows: Row[], quota: Quota) => {
  const waits: number[] = [];
  const blocked = new Map<Flow, Head>();
  let free = queue.levels;
  for (let row = lowest(rows); row; row = lowest(rows)) {
    const { flow } = row;
    const next = takeNext(row, quota, free);
    if (!next) break;
    const { amounts, leftMs, index } = next;
    const isOwn = index !== undefined;
    const isAdmitted = isOwn && !blocked.has(flow) && fits(quota, free, amounts);
    const waitMs = isAdmitted ? 0 : waitFor(quota, free, amounts);
    if (isOwn) waits[index] = waitMs;
    if (waitMs > leftMs) continue;
    const cost = costOf(quota, next);
    row.tag += cost;
    free = minus(quota, free, amounts);
    if (isAdmitted) {
      queue.levels = minus(quota, queue.levels, amounts);
      flow.tag = Math.max(0, flow.tag) + cost;
    } else if (isOwn && !blocked.has(flow)) blocked.set(flow, next);
  }
  return { blocked, waits };
};

/**
 * Start-time fair queueing over a bucket, as one step of the process `by`: who of those that wait in it is admitted, and how long the
 * others have to wait at least (ms; 0 for the admitted). The flow with the lowest tag comes first. Its need is kept free for it
 * until its process looks, so that no look of another process is waited for; of a flow, requests of several processes pass as they came.
 */
export const decide = (
  before: Queue | undefined,
  { asks, corrections }: { asks: readonly Asking[]; corrections: readonly Correction[] },
  { quota, now, aheadMs, by }: { quota: Quota; by: string } & Record<'now' | 'aheadMs', number>,
): { queue: Queue; waits: number[] } => {
  const queue = refilled(before, quota, now);
  for (const correction of corrections) correct(queue, correction, quota, now);
  const rows = rowsOf(queue, asks, by);
  const { blocked, waits } = admit(queue, rows, quota);
  for (const { flow } of rows) {
    const one = blocked.get(flow);
    const until = Math.max(queue.at, now + aheadMs) + Math.min(PLACE_MS, one?.leftMs ?? 0);
    const place = one && { by, until, needs: one.amounts, weight: one.weight };
    flow.places = flow.places.flatMap((kept) => (kept.by === by ? (place ?? []) : kept));
    if (place && !flow.places.includes(place) && flow.places.length < MAX_PLACES)
      flow.places.push(place);
  }
  return { queue: levelled(queue), waits };
};
