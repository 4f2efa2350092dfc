import type { RouterReading } from './load-router.ts';
import type { StreamResult } from './load-stream.ts';

export type Measured = {
  results: StreamResult[];
  /** One a second while the load was on. */
  readings: RouterReading[];
  /** Of the router when callers, upstreams and table had gone. */
  socketsLeft: number;
  callsLeft: number;
  charged: number;
  paceMs: number;
  streams: number;
  seconds: number;
  /** Of Node, for the router's process. */
  args: string;
};

/** One line of the table; without a limit it only informs. */
export type Line = { name: string; value: string; limit?: string; isBroken?: boolean };

const MAX_GAP_MS = 250;
const MAX_RSS_MB = 300;
/** Growth of the memory from the second quarter of the time to the last that still counts as none. */
const MAX_GROWTH = 0.1;

const quantile = (values: number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
};

const quarter = <T>(values: T[], number: number): T[] =>
  values.slice((values.length * (number - 1)) / 4, (values.length * number) / 4);

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);

const none = (name: string, count: number): Line => ({
  name,
  value: String(count),
  limit: '0',
  isBroken: count !== 0,
});

const most = (name: string, value: number, limit: number, unit: string): Line => ({
  name,
  value: `${value.toFixed(0)} ${unit}`,
  limit: `${limit} ${unit}`,
  // Written so that a value that is no number breaks it.
  isBroken: !(value <= limit),
});

const streamLines = ({ results, charged }: Measured): Line[] => {
  const total = (count: (result: StreamResult) => number) => sum(results.map(count));
  const finished = results.filter(({ status }) => status === 200).length;
  return [
    { name: 'streams finished', value: `${finished}`, limit: '> 0', isBroken: finished === 0 },
    { name: 'numbered events', value: String(total(({ words }) => words)) },
    none('refused streams', results.length - finished),
    none(
      'lost events',
      total(({ lost }) => lost),
    ),
    none(
      'duplicated events',
      total(({ duplicated }) => duplicated),
    ),
    none(
      'reordered streams',
      total(({ reordered }) => reordered),
    ),
    none(
      'malformed events',
      total(({ malformed }) => malformed),
    ),
    none('units charged beyond the streams, or missing', charged - finished),
  ];
};

/** A gap is measured between two events of one stream, the pace of the upstream taken off. */
const gapLines = ({ results, paceMs }: Measured): Line[] => {
  const gaps = results.flatMap((result) => result.gaps.map((gap) => gap - paceMs));
  return [
    { name: 'gap beyond the pace, p50', value: `${quantile(gaps, 0.5).toFixed(0)} ms` },
    most('gap beyond the pace, p99', quantile(gaps, 0.99), MAX_GAP_MS, 'ms'),
    { name: 'gap beyond the pace, longest', value: `${quantile(gaps, 1).toFixed(0)} ms` },
  ];
};

const routerLines = ({ readings, results, socketsLeft, callsLeft, seconds }: Measured): Line[] => {
  const rss = readings.map(({ rssMb }) => rssMb);
  const [second, last] = [quantile(quarter(rss, 2), 0.5), quantile(quarter(rss, 4), 0.5)];
  const cpu = (readings.at(-1)?.cpuSeconds ?? 0) - (readings[0]?.cpuSeconds ?? 0);
  const events = sum(results.map(({ words }) => words));
  const growth = (last / second - 1) * 100;
  return [
    most('router RSS, highest', Math.max(...rss), MAX_RSS_MB, 'MB'),
    {
      name: 'router RSS, median of 2nd and 4th quarter',
      value: `${second.toFixed(0)}, ${last.toFixed(0)} MB`,
    },
    most('router RSS, growth between them', growth, MAX_GROWTH * 100, '%'),
    {
      name: 'router CPU',
      value: `${((cpu / seconds) * 100).toFixed(0)} % of a core, ${((cpu / events) * 1e6).toFixed(0)} us an event`,
    },
    {
      name: 'router, longest turn',
      value: `${Math.max(...readings.map(({ delayMs }) => delayMs)).toFixed(0)} ms`,
    },
    {
      name: 'router sockets, most',
      value: String(Math.max(...readings.map(({ sockets }) => sockets))),
    },
    none('upstream calls left open', callsLeft),
    none('router sockets left', socketsLeft),
  ];
};

export const linesOf = (measured: Measured): Line[] => {
  const { streams, seconds, paceMs, args } = measured;
  return [
    {
      name: 'load',
      value: `${streams} streams for ${seconds} s, an event every ${paceMs} ms each`,
    },
    { name: 'router', value: `node ${args}` },
    ...streamLines(measured),
    ...gapLines(measured),
    ...routerLines(measured),
  ];
};

export const formatLine = ({ name, value, limit, isBroken }: Line): string =>
  `${name.padEnd(46)} ${value.padEnd(48)} ${limit ? `limit ${limit}` : ''}${isBroken ? '  BROKEN' : ''}`.trimEnd();
