import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMeterNow, type Design, designBefore } from './designs.ts';
import { type Load, type LoadResult, simulateLoad } from './load.ts';
import { priceOf, print } from './print.ts';

type Designs = Record<string, Design>;

const DYNAMO = { unitsPerSecond: 1_000, responseMs: 1_000, warmUpSeconds: 6 };
/** Environments of Lambda, which serve one request at a time, or one that serves many. */
const LAMBDA = { environments: 64 };
const TOGETHER = { environments: 1, isTogether: true, responseMs: 500 };

const LOADS: Record<string, Pick<Load, 'rate' | 'environments'> & Partial<Load>> = {
  '1 a second': { ...LAMBDA, rate: 1 },
  '10 a second': { ...LAMBDA, rate: 10 },
  '50 a second': { ...LAMBDA, rate: 50 },
  '10 at once in one environment': { ...TOGETHER, rate: 10 },
  '50 at once in one environment': { ...TOGETHER, rate: 50 },
  '200 a second': { ...LAMBDA, rate: 200 },
};
/** Only of the meter that can be sharded. */
const LARGE_LOADS: typeof LOADS = {
  '1,000 a second': { ...LAMBDA, rate: 1_000 },
  '2,000 a second': { ...LAMBDA, rate: 2_000 },
  '3,000 a second': { ...LAMBDA, rate: 3_000 },
};

/** Of one request. */
const costsOf = ({ offered, counts }: LoadResult): (string | number)[] => {
  const units = counts.units / offered;
  const reads = counts.reads / offered;
  const bytes = Math.round(counts.bytes / counts.writes);
  const writes = (counts.writes / offered).toFixed(2);
  return [writes, units.toFixed(2), bytes, reads.toFixed(2), priceOf(units, reads)];
};

const measureLoads = async (designs: Designs, loads: typeof LOADS): Promise<void> => {
  for (const [what, load] of Object.entries(loads)) {
    for (const [name, design] of Object.entries(designs)) {
      const result = await simulateLoad(design, { ...DYNAMO, ...load, seconds: 5 });
      const { offered, served } = result;
      const answered = `${Math.floor((100 * served) / offered)} %`;
      // A load that is not answered has no price.
      print(what, name, answered, ...(served < offered ? [] : costsOf(result)));
    }
  }
};

/** In the minute there is one change of the minute's counter. */
const measureShards = async (): Promise<void> => {
  print('');
  print('a sharded meter, in a minute', 'shards', 'requests', 'further writes', 'reads');
  for (const rate of [100, 500]) {
    const load = { ...DYNAMO, ...LAMBDA, rate, seconds: 60 };
    const { offered, counts, items } = await simulateLoad(createMeterNow, load);
    print(`${rate} a second`, items - 1, offered, counts.writes - 2 * offered, counts.reads);
  }
};

type Limits = Pick<Load, 'unitsPerSecond' | 'responseMs' | 'environments'>;

/** The largest rate, to a tenth, of which 99 % are answered. */
const findCapacity = async (design: Design, limits: Limits): Promise<number> => {
  const isServed = async (rate: number): Promise<boolean> => {
    const load = { ...DYNAMO, ...limits, rate, seconds: 3 };
    const { offered, served } = await simulateLoad(design, load);
    return served >= 0.99 * offered;
  };
  let low = 8;
  while (await isServed(2 * low)) low *= 2;
  let high = 2 * low;
  while (high - low > Math.max(1, low / 10)) {
    const middle = Math.round((low + high) / 2);
    if (await isServed(middle)) low = middle;
    else high = middle;
  }
  return low;
};

/** The scales of test/metering/tip-over.test.ts and test/simulation/tip-over.test.ts, and DynamoDB's own. */
const CAPACITIES: Limits[] = [
  { unitsPerSecond: 25, responseMs: 1_000, environments: 4 },
  { ...LAMBDA, unitsPerSecond: 125, responseMs: 1_000 },
  { ...LAMBDA, unitsPerSecond: 1_000, responseMs: 60_000 },
  { ...LAMBDA, unitsPerSecond: 1_000, responseMs: 10_000 },
  { ...LAMBDA, unitsPerSecond: 1_000, responseMs: 1_000 },
];

const measureCapacities = async (designs: Designs): Promise<void> => {
  print('');
  print('requests a second that one key is answered', ...Object.keys(designs));
  for (const limits of CAPACITIES) {
    const rates: number[] = [];
    for (const design of Object.values(designs)) rates.push(await findCapacity(design, limits));
    print(
      `${limits.unitsPerSecond} units/s an item, ${limits.responseMs / 1_000} s each`,
      ...rates,
    );
  }
};

/** Prints the costs and limits of the meter of 0.1 and of today's, on a simulated table. */
export const compareDesigns = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-metering-'));
  try {
    const designs = { '0.1': await designBefore(join(folder, 'sources')), now: createMeterNow };
    print('');
    print(
      'one key, of a request',
      'meter',
      'answered',
      'writes',
      'units',
      'bytes',
      'reads',
      '$/million',
    );
    await measureLoads(designs, LOADS);
    await measureLoads({ now: createMeterNow }, LARGE_LOADS);
    await measureShards();
    await measureCapacities(designs);
  } finally {
    rmSync(folder, { recursive: true });
  }
};
