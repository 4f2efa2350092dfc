import type { Caller } from '../../lambdas/keys/authenticate.ts';
import { newRequestId } from '../../lambdas/support/ids.ts';
import { createRandom } from '../../test/simulation/random.ts';
import { createScaledTable, type TableCounts } from '../../test/simulation/scaled-table.ts';
import { createScheduler } from '../../test/simulation/scheduler.ts';
import type { Design } from './designs.ts';

const SECOND = 1_000;
const START = Date.parse('2026-11-21T11:30:01Z');
const CALLER: Caller = {
  keyId: 'key_00000000000000000000',
  projectId: 'prj',
  meterId: 'mtr_00000000000000000000',
  plan: { id: 'plan', rpm: 10_000_000, quota: 100_000_000, period: 'month' },
};

export type Load = {
  /** Requests a second of one key. */
  rate: number;
  /** All of a second at its beginning; without it at random moments. */
  isTogether?: boolean;
  /** Of a response, from its reservation to its end. */
  responseMs: number;
  /** That the requests alternate between. */
  environments: number;
  /** What the table grants each item; DynamoDB grants 1,000. */
  unitsPerSecond: number;
  /** Time for the meter to find its shards, not measured. */
  warmUpSeconds: number;
  seconds: number;
};

export type LoadResult = { offered: number; served: number; counts: TableCounts; items: number };

const is503 = (error: unknown): boolean =>
  error instanceof Error && 'status' in error && error.status === 503;

/** What the table did since `earlier`. */
const since = (now: TableCounts, earlier: TableCounts): TableCounts => ({
  writes: now.writes - earlier.writes,
  units: now.units - earlier.units,
  bytes: now.bytes - earlier.bytes,
  reads: now.reads - earlier.reads,
  throttled: now.throttled - earlier.throttled,
});

/** Offers a load to a meter in simulated time. Its seconds begin when a response's time has passed after the warm-up. */
export const simulateLoad = async (design: Design, load: Load): Promise<LoadResult> => {
  const scheduler = createScheduler(START);
  const random = createRandom(1);
  const randomBytes = (size: number) =>
    Uint8Array.from({ length: size }, () => random.between(0, 255));
  const { client, counts, countItems } = createScaledTable(scheduler, load.unitsPerSecond);
  const meters = Array.from({ length: load.environments }, () => design(client, scheduler));
  const begin = START + load.warmUpSeconds * SECOND + load.responseMs;
  const end = begin + load.seconds * SECOND;
  let sent = 0;
  let offered = 0;
  let served = 0;

  const serve = async (isMeasured: boolean): Promise<void> => {
    sent += 1;
    const requestId = newRequestId(randomBytes, scheduler.now());
    try {
      const respond = () => scheduler.sleep(load.responseMs);
      await meters[sent % load.environments]?.(CALLER, requestId, respond);
      if (isMeasured) served += 1;
    } catch (error) {
      if (!is503(error)) throw error;
    }
  };

  /** One second's requests, and then the next. */
  const offerSecond = (): void => {
    for (let n = 0; n < load.rate; n += 1) {
      scheduler.after(load.isTogether ? 0 : random.between(0, SECOND - 1), () => {
        const isMeasured = scheduler.now() >= begin && scheduler.now() < end;
        if (isMeasured) offered += 1;
        void serve(isMeasured);
      });
    }
    scheduler.after(SECOND, offerSecond);
  };

  offerSecond();
  await scheduler.run(begin);
  const earlier = { ...counts };
  await scheduler.run(end);
  const measured = since(counts, earlier);
  // The load continues while the measured responses end.
  await scheduler.run(end + load.responseMs + 2 * SECOND);
  return { offered, served, counts: measured, items: countItems() };
};
