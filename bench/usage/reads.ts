import { setTimeout as pause } from 'node:timers/promises';
import type { LocalRouter } from '../../local/start.ts';
import { quantile } from '../median.ts';

const DAY_MS = 86_400_000;
const READERS = 4;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7);

type Read = { name: string; path: string; key?: boolean };

const readsAt = (now: number): Read[] => {
  const day = (back: number) => new Date(now - back * DAY_MS).toISOString().slice(0, 10);
  const range = (days: number) => `since=${day(days - 1)}T00:00:00Z&until=${day(0)}T23:59:59.999Z`;
  return [
    { name: 'usage by day, 30 days', path: `/admin/usage?by=day&${range(30)}` },
    { name: 'usage by key (overview), 31 days', path: `/admin/usage?by=key&${range(31)}` },
    { name: 'statement', path: `/admin/projects/local/statements/${day(0).slice(0, 7)}` },
    { name: 'first page of CSV', path: `/admin/usage?since=${day(0)}T00:00:00Z` },
    { name: 'public usage', path: `/v1/usage?since=${day(0)}`, key: true },
    { name: 'list of requests', path: '/admin/requests?limit=50' },
  ];
};

/** Milliseconds of a read until its whole body is there, and its charged requests. */
const timeOf = async (router: LocalRouter, key: string, read: Read) => {
  const start = performance.now();
  const headers = read.key ? { 'x-api-key': key } : undefined;
  const response = await fetch(router.baseUrl + read.path, headers && { headers });
  const body = (await response.json()) as {
    total?: { charged?: number };
    history?: { total?: { charged?: number } };
  };
  if (!response.ok) throw new Error(JSON.stringify(body));
  const charged = body.total?.charged ?? body.history?.total?.charged;
  return { ms: performance.now() - start, charged };
};

const MAX_WAIT_MS = 600_000;
/** Of a console, between two reads. */
const PAUSE_MS = 100;

/** Reads of four consoles, one after another, until all records are counted: by name, their times. */
const whileFolding = async (
  ask: (read: Read) => ReturnType<typeof timeOf>,
  reads: Read[],
  all: number,
) => {
  const times = new Map<string, number[]>();
  const end = performance.now() + MAX_WAIT_MS;
  let counted = 0;
  const readInTurn = async (): Promise<void> => {
    while (counted !== all && performance.now() < end) {
      for (const read of reads) {
        const { ms, charged } = await ask(read);
        times.set(read.name, [...(times.get(read.name) ?? []), ms]);
        if (read === reads[0]) counted = charged ?? 0;
        await pause(PAUSE_MS);
      }
    }
  };
  await Promise.all(Array.from({ length: READERS }, readInTurn));
  return times;
};

/** Prints the times of each read from its first to its last byte: while new records are folded, alone, and four at once. */
export const readsOf = async ({
  router,
  key,
  records,
}: {
  router: LocalRouter;
  key: string;
  records: number;
}) => {
  const reads = readsAt(Date.now());
  const ask = (read: Read) => timeOf(router, key, read);
  const start = performance.now();
  const fresh = await whileFolding(ask, reads, records * 0.9);
  const seconds = ((performance.now() - start) / 1_000).toFixed(1);
  console.log(`${records} records, all are counted after ${seconds} s`);
  console.log(
    '| Read | four consoles until then, median ms | longest | alone | longest | four at once | longest |\n|---|---|---|---|---|---|---|',
  );
  for (const read of reads) {
    const alone: number[] = [];
    const together: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      alone.push((await ask(read)).ms);
      // Longer than what is folded counts as fresh.
      await pause(round % 2 === 0 ? 2_100 : 50);
      const all = await Promise.all(Array.from({ length: READERS }, () => ask(read)));
      together.push(...all.map(({ ms }) => ms));
    }
    const cells = [fresh.get(read.name) ?? [], alone, together].flatMap((times) => {
      return [quantile(times, 0.5), quantile(times, 1)];
    });
    console.log(`| ${read.name} | ${cells.join(' | ')} |`);
  }
};
