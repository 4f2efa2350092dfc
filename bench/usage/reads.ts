import type { LocalRouter } from '../../local/start.ts';

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

const quantile = (sorted: number[], share: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(0);

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

/** Prints the times of each read: the first, then alone and with three others, from the first to the last byte. */
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
  const [first] = reads;
  if (!first) return;
  const { ms, charged } = await timeOf(router, key, first);
  console.log(`${records} records; the first read: ${ms.toFixed(0)} ms, charged ${charged}`);
  const start = performance.now();
  for (let waited = 0, seen = charged; seen !== records * 0.9 && waited < 600; waited += 1) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    ({ charged: seen } = await timeOf(router, key, first));
  }
  console.log(`all are counted after ${((performance.now() - start) / 1_000).toFixed(0)} s`);
  console.log(
    '| Read | alone, median ms | longest | four at once, median ms | longest |\n|---|---|---|---|---|',
  );
  for (const read of reads) {
    const alone: number[] = [];
    const together: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      alone.push((await timeOf(router, key, read)).ms);
      // Longer than what is folded counts as fresh.
      await new Promise((resolve) => setTimeout(resolve, round % 2 === 0 ? 2_100 : 50));
      const all = await Promise.all(
        Array.from({ length: READERS }, () => timeOf(router, key, read)),
      );
      together.push(...all.map((one) => one.ms));
    }
    alone.sort((one, other) => one - other);
    together.sort((one, other) => one - other);
    const cells = [alone, together].flatMap((times) => [quantile(times, 0.5), quantile(times, 1)]);
    console.log(`| ${read.name} | ${cells.join(' | ')} |`);
  }
};
