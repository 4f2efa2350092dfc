import { oncePer } from '../../support/once-per.ts';
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

/** What the first request of a flow that waits in the process `by` needs, and until when it is kept free. */
type Place = { by: string; until: number; needs: Amounts };

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
export const costOf = (quota: Quota, { amounts, weight }: Ask): number =>
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
    const places = flow.places.filter(({ until }) => until >= at);
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

/** Those of one flow in the order in which they pass; `others` is what it needs first in another process. */
type Row = {
  flow: Flow;
  tag: number;
  asks: (Asking & { index: number })[];
  others: Amounts | undefined;
};

/** The asks by their flows, with the flows that wait elsewhere. A flow that was away has no credit from that time. */
const rowsOf = (queue: Queue, asks: readonly Asking[], by: string): Row[] => {
  const rows = new Map<Flow, Row>();
  const rowOf = oncePer(rows, (flow: Flow): Row => {
    const [place] = flow.places;
    return { flow, tag: Math.max(0, flow.tag), asks: [], others: place?.needs };
  });
  for (const flow of Object.values(queue.flows)) {
    flow.places = flow.places.filter((place) => place.by !== by);
  }
  for (const [index, asking] of asks.entries()) {
    const name = asking.ask.flow;
    const flow = queue.flows[name] ?? { tag: 0, seen: queue.at, places: [] };
    flow.seen = queue.at;
    queue.flows[name] = flow;
    rowOf(flow).asks.push({ ...asking, index });
  }
  // After its own, which precede those of others at the same tag: two processes would wait for each other.
  for (const flow of Object.values(queue.flows)) if (isWaiting(flow)) rowOf(flow);
  return [...rows.values()];
};

const lowest = (rows: Row[]): Row | undefined => {
  let found: Row | undefined;
  for (const row of rows) {
    if (row.asks.length === 0 && !row.others) continue;
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

/** Takes the asks in the order of their tags; the needs of the flows that were blocked, and how long each ask waits at least. */
const admit = (queue: Queue, rows: Row[], quota: Quota) => {
  const waits = new Map<number, number>();
  const blocked = new Map<Row, Asking>();
  let free = queue.levels;
  for (let row = lowest(rows); row; row = lowest(rows)) {
    const [next] = row.asks.splice(0, 1);
    if (!next) {
      // Kept free for a flow that waits in another process.
      free = minus(quota, free, row.others ?? {});
      row.others = undefined;
      continue;
    }
    const { ask, index, leftMs } = next;
    const isAdmitted = !blocked.has(row) && fits(quota, free, ask.amounts);
    const waitMs = isAdmitted ? 0 : waitFor(quota, free, ask.amounts);
    waits.set(index, waitMs);
    if (waitMs > leftMs) continue;
    row.tag += costOf(quota, ask);
    free = minus(quota, free, ask.amounts);
    if (isAdmitted) {
      queue.levels = minus(quota, queue.levels, ask.amounts);
      row.flow.tag = row.tag;
    } else if (!blocked.has(row)) blocked.set(row, next);
  }
  return { blocked, waits };
};

/**
 * Start-time fair queueing over a bucket, as one step of the process `by`: who of those that wait in it is admitted, and how long the
 * others have to wait at least (ms; 0 for the admitted). The flow with the lowest tag comes first. Its need is kept free for it
 * until its process looks, so that no look of another process is waited for.
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
  for (const [{ flow }, { ask, leftMs }] of blocked) {
    if (flow.places.length < MAX_PLACES)
      flow.places.push({
        by,
        until: Math.max(queue.at, now + aheadMs) + Math.min(PLACE_MS, leftMs),
        needs: ask.amounts,
      });
  }
  return { queue: levelled(queue), waits: asks.map((_, index) => waits.get(index) ?? 0) };
};
