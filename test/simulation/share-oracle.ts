import { type Ask, burstOf, costOf, type Quota } from '../../lambdas/routing/shares/fair-queue.ts';

export type Arrival = { at: number; ask: Ask; patienceMs: number };

const KINDS = ['tokens', 'requests'] as const;
const STEP_MS = 10;

/**
 * What a perfect scheduler serves of the same requests: it alone decides, knows all that wait, and decides at once. Start-time
 * fair queueing over the same bucket, in steps of 10 ms; the first request of the flow with the lowest tag is never overtaken.
 */
export const serveCentrally = (quota: Quota, arrivals: Arrival[]): Arrival[] => {
  const served: Arrival[] = [];
  const levels = new Map(KINDS.map((kind) => [kind, burstOf(quota, kind)]));
  const tags = new Map<string, number>();
  let waiting: Arrival[] = [];
  let next = 0;
  let floor = 0;
  let now = arrivals[0]?.at ?? 0;
  while (next < arrivals.length || waiting.length > 0) {
    for (let one = arrivals[next]; one && one.at <= now; one = arrivals[next]) {
      next += 1;
      const { flow } = one.ask;
      if (!waiting.some(({ ask }) => ask.flow === flow)) {
        tags.set(flow, Math.max(floor, tags.get(flow) ?? 0));
      }
      waiting.push(one);
    }
    for (;;) {
      const first = waiting.reduce<Arrival | undefined>(
        (found, one) =>
          found && (tags.get(found.ask.flow) ?? 0) <= (tags.get(one.ask.flow) ?? 0) ? found : one,
        undefined,
      );
      if (!first) break;
      const { flow, amounts } = first.ask;
      floor = Math.max(floor, tags.get(flow) ?? 0);
      const hasRoom = KINDS.every(
        (kind) =>
          quota.limits[kind] === undefined ||
          (levels.get(kind) ?? 0) + 1e-6 >= Math.min(amounts[kind] ?? 0, burstOf(quota, kind)),
      );
      if (!hasRoom) break;
      for (const kind of KINDS) levels.set(kind, (levels.get(kind) ?? 0) - (amounts[kind] ?? 0));
      tags.set(flow, (tags.get(flow) ?? 0) + costOf(quota, first.ask));
      served.push(first);
      waiting = waiting.filter((one) => one !== first);
    }
    waiting = waiting.filter(({ at, patienceMs }) => at + patienceMs > now);
    now += STEP_MS;
    for (const kind of KINDS) {
      const burst = burstOf(quota, kind);
      levels.set(kind, Math.min(burst, (levels.get(kind) ?? 0) + (burst / 5_000) * STEP_MS));
    }
  }
  return served;
};
