/** `npm run bench:streams`: what an open stream costs the Web Function. Described in bench/README.md. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { bundle, WEB_BUNDLE } from '../lib/bundle/bundle.ts';
import { cpuOf, start, startRouter, stop, stopAll } from './gateway/processes.ts';
import { environmentOn, modelOf, startStores, targetAt } from './gateway/setting.ts';
import { tenths } from './gateway/tick.ts';

const MS = 20_000;
const KEYS = 50;
/** Opened per second: more would be a queue of admissions, not streams. */
const OPENED_A_SECOND = 400;
const WARM_UP = 200;

type Row = { streams: number; everyMs: number };

const words = process.argv.slice(2);
const rows: Row[] = (
  words.some((word) => /^\d/.test(word)) ? words : ['64', '520', '2000', '5000@1000']
)
  .filter((word) => /^\d/.test(word))
  .map((word) => {
    const [streams, every = '100'] = word.split('@');
    return { streams: Number(streams), everyMs: Number(every) };
  });
const mayWait = words.includes('reap');

const modelName = (everyMs: number, ms: number) => `tick/${everyMs}/${ms}`;
/** What was measured of a row, in milliseconds and microseconds of CPU, and of memory. */
type Measured = Row &
  Record<
    'complete' | 'events' | 'fixedMs' | 'streamMs' | 'eventUs' | 'wholeGb' | 'streamMb',
    number
  >;

const rowOf = (cells: string[]): string => `| ${cells.join(' | ')} |`;
const print = (line: string) => process.stdout.write(`${line}\n`);
const quantile = (sorted: ArrayLike<number>, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;

const printHead = (cells: string[]): void => {
  print(rowOf(cells));
  print(rowOf(cells.map(() => '---')));
};

/** One stream on a separate socket; `late` are the milliseconds from the provider's write of each event to its arrival here. */
type Stream = { late: number[]; isComplete: boolean; head: string; closed: Promise<void> };

const TEXT = /"content":"(\d+)"/g;

const open = (url: string, key: string, model: string): Stream => {
  const { hostname, port, pathname } = new URL(url);
  const path = `${pathname.replace(/\/$/, '')}/chat/completions`;
  const messages = [{ role: 'user', content: 'Count.' }];
  const body = JSON.stringify({ model, stream: true, messages });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const stream: Stream = { late: [], isComplete: false, head: '', closed };
  const socket = connect({ host: hostname, port: Number(port), noDelay: true }, () =>
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    ),
  );
  let rest = '';
  socket.setEncoding('latin1').on('data', (piece) => {
    const now = tenths();
    stream.head ||= String(piece);
    const text = rest + String(piece);
    const end = text.lastIndexOf('\n\n') + 2;
    for (const [, at] of text.slice(0, end).matchAll(TEXT))
      stream.late.push((now - Number(at)) / 10);
    if (text.includes('[DONE]')) stream.isComplete = true;
    rest = text.slice(end);
  });
  socket.on('error', (error) => {
    stream.head ||= `no response: ${error.message}`;
  });
  socket.on('close', () => resolve());
  return stream;
};

/** Opens the streams at an even pace. */
const openAll = async (url: string, keys: string[], model: string, count: number) => {
  const streams: Stream[] = [];
  const from = performance.now();
  while (streams.length < count) {
    const due = Math.min(count, ((performance.now() - from) / 1_000) * OPENED_A_SECOND);
    while (streams.length < due) {
      streams.push(open(url, keys[streams.length % keys.length] ?? '', model));
    }
    await pause(5);
  }
  return streams;
};

/** How many ended otherwise, by status and message. */
const failuresOf = (streams: Stream[]): string => {
  const counts = new Map<string, number>();
  for (const { head } of streams.filter(({ isComplete }) => !isComplete)) {
    const message = /"message":"([^"]*)/.exec(head)?.[1] ?? '';
    const failure = head.startsWith('no') ? head : `${head.slice(9, 12)} ${message}`;
    counts.set(failure, (counts.get(failure) ?? 0) + 1);
  }
  return [...counts].map(([failure, count]) => `; ${count}: ${failure}`).join('');
};

const rssOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;

/** Lateness of all events, and how far the means of the streams are apart. */
const latenessOf = (streams: Stream[]) => {
  const all = Float64Array.from(streams.flatMap(({ late }) => late)).sort();
  const means = streams
    .filter(({ late }) => late.length > 0)
    .map(({ late }) => late.reduce((sum, ms) => sum + ms, 0) / late.length)
    .toSorted((a, b) => a - b);
  return {
    events: all.length,
    text: [0.5, 0.99, 1].map((share) => quantile(all, share).toFixed(1)).join(' / '),
    spread: [0, 0.5, 1].map((share) => quantile(means, share).toFixed(1)).join(' / '),
  };
};

type Launched = { pid: number; url: string };
type Setting = { keys: string[]; provider: { url: string } };

const runAll = async (...opening: Parameters<typeof openAll>): Promise<Stream[]> => {
  const streams = await openAll(...opening);
  await Promise.all(streams.map(({ closed }) => closed));
  return streams;
};

const measure = async (
  router: Launched,
  { keys, provider }: Setting,
  row: Row,
): Promise<Measured> => {
  const { streams: count, everyMs } = row;
  const model = modelName(everyMs, MS);
  await runAll(`${router.url}/v1`, keys, modelName(100, 2_000), WARM_UP);
  const direct = await runAll(provider.url, keys, modelName(everyMs, 5_000), count);
  const [cpuBefore, rssBefore] = [cpuOf(router.pid), rssOf(router.pid)];
  const streams = await openAll(`${router.url}/v1`, keys, model, count);
  const openedCpu = cpuOf(router.pid) - cpuBefore;
  const rss: number[] = [];
  let isOver = false;
  const watch = (async () => {
    while (!isOver) {
      rss.push(rssOf(router.pid));
      await pause(500);
    }
  })();
  await Promise.all(streams.map(({ closed }) => closed));
  isOver = true;
  await watch;
  const cpu = cpuOf(router.pid) - cpuBefore;
  const { events, text, spread } = latenessOf(streams);
  const complete = streams.filter(({ isComplete }) => isComplete).length;
  const measured: Measured = {
    ...{ streams: count, everyMs, complete, events },
    fixedMs: openedCpu / complete / 1_000,
    streamMs: cpu / complete / 1_000,
    eventUs: (cpu - openedCpu) / events,
    wholeGb: Math.max(...rss) / 1_024,
    streamMb: (Math.max(...rss) - rssBefore) / complete,
  };
  print(
    rowOf([
      `${count}, an event each ${everyMs} ms`,
      `${complete}, ${events} events${failuresOf(streams)}`,
      `${measured.streamMs.toFixed(1)} ms, ${(cpu / events).toFixed(0)} us`,
      `${measured.streamMb.toFixed(2)} MB`,
      `${text}; ${latenessOf(direct).text}`,
      spread,
    ]),
  );
  return measured;
};

/** Dollars: a GB-second of a function on arm64, its GB of a vCPU, a million requests; vCPU- and GB-hours of Fargate on arm64. */
const RATES = {
  gbSecond: 0.0000133334,
  gbOfCpu: 1.73,
  million: 0.2,
  cpuHour: 0.03238,
  gbHour: 0.00356,
};
const FUNCTION_GB = 0.25;

/** The price of a million streams of so many seconds, by the CPU and memory of one in a full environment. */
const priceRow = (row: Measured, seconds: number): string => {
  const cpu = (row.fixedMs + ((seconds * 1_000) / row.everyMs) * (row.eventUs / 1_000)) / 1_000;
  const gbSeconds = (row.wholeGb / row.streams) * seconds;
  const { gbSecond, gbOfCpu, million, cpuHour, gbHour } = RATES;
  const prices = [
    FUNCTION_GB * seconds * gbSecond * 1e6 + million,
    (cpu * gbOfCpu + gbSeconds) * gbSecond * 1e6 + million,
    ((cpu * cpuHour + gbSeconds * gbHour) / 3_600) * 1e6 + million,
  ].map((dollars) => `$${dollars.toFixed(2)}`);
  const [onFunction = '', ...web] = prices;
  const used = `${(1_000 * cpu).toFixed(1)} ms, ${gbSeconds.toFixed(4)} GB-s`;
  return rowOf([`${seconds} s`, onFunction, used, ...web]);
};

const printPrices = (row: Measured): void => {
  print('');
  printHead([
    `A million streams, an event each ${row.everyMs} ms, ${row.streams} in an environment`,
    ...['Function, 256 MB', 'CPU, memory of a stream', "At a function's rates", "at Fargate's"],
  ]);
  for (const seconds of [2, 20, 120]) print(priceRow(row, seconds));
  print('');
};

type Usage = { period: { used: number; reserved: number } };

const usageOf = async (url: string, keys: string[]) => {
  const all = await Promise.all(
    keys.map(async (key) => {
      const headers = { authorization: `Bearer ${key}` };
      const response = await fetch(`${url}/v1/usage`, { headers });
      return (await response.json()) as Usage;
    }),
  );
  const sum = (name: keyof Usage['period']) =>
    all.reduce((total, { period }) => total + period[name], 0);
  return { used: sum('used'), reserved: sum('reserved') };
};

/** Kills the environment in the middle of its streams, and asks another one what the meter holds. */
const kill = async (launch: () => Promise<Launched>, { keys }: Setting) => {
  const router = await launch();
  const { streams: count = 0, everyMs = 100 } = rows[0] ?? {};
  const before = await usageOf(router.url, keys);
  const streams = await openAll(`${router.url}/v1`, keys, modelName(everyMs, MS), count);
  await pause(MS / 4);
  stop(router.pid);
  await Promise.all(streams.map(({ closed }) => closed));
  const cut = streams.filter(({ isComplete }) => !isComplete).length;
  const other = await launch();
  const killedAt = performance.now();
  print(`kill -9 with ${count} streams open: ${cut} cut, without an end`);
  const tell = async (when: string) => {
    const { used, reserved } = await usageOf(other.url, keys);
    print(`  ${when}: ${used - before.used} units more used, ${reserved} reserved`);
    return reserved;
  };
  let reserved = await tell('at once');
  while (mayWait && reserved > 0 && performance.now() - killedAt < 30 * 60_000) {
    await pause(60_000);
    reserved = await tell(`after ${Math.round((performance.now() - killedAt) / 60_000)} minutes`);
  }
};

const folder = mkdtempSync(join(tmpdir(), 'bench-streams-'));
try {
  const { keys, stores } = await startStores(KEYS);
  stop(stores.dynalite.pid);
  const provider = await start<{ url: string }>('ticking.ts');
  const names = rows.flatMap(({ everyMs }) => [modelName(everyMs, MS)]);
  const models = [...new Set([...names, modelName(100, 2_000)])].map((name) =>
    modelOf(name, [targetAt(provider.url, name)]),
  );
  const catalog = join(folder, 'models.json');
  writeFileSync(catalog, JSON.stringify(models));
  const { file } = bundle({ ...WEB_BUNDLE, outdir: folder, catalog });
  const launch = () => startRouter(file, environmentOn(stores['instant store']));
  printHead([
    `Streams of ${MS / 1_000} s at once in one process`,
    ...['Complete', 'CPU of a stream, of an event', 'Memory of a stream'],
    ...['Late, ms: median, p99, max; without the router', 'Mean of a stream: least, median, most'],
  ]);
  let first: Measured | undefined;
  for (const row of rows) {
    const router = await launch();
    const measured = await measure(router, { keys, provider }, row);
    first ??= measured;
    stop(router.pid);
  }
  if (first) printPrices(first);
  await kill(launch, { keys, provider });
} finally {
  stopAll();
  rmSync(folder, { recursive: true });
}
