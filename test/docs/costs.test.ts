import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { recordAt } from '../../bench/usage/seed.ts';
import { createExporter } from '../../lambdas/otlp/exporter.ts';
import type { CallerProtocolName } from '../../lambdas/protocols/protocol.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { billOf, unitsOf } from '../support/bill.ts';
import { read } from './pins.ts';

/** Of the request that the page gives as an example. */
const EXAMPLE = { tokens: 1_500, gap: 60 };
const SECONDS = 20;
/** Prose of other lengths, and chunks that share a packet, change the bytes of a token by a byte or two. */
const TOLERANCE = 0.15;

const page = read('docs/deploy.md');

/** The numbers that the page gives behind `text`. */
const figuresBehind = (text: string): number[] => {
  const [, rest = ''] = page.split(text);
  const [line = ''] = rest.split('\n');
  return [...line.matchAll(/\d+(?:\.\d+)?/g)].map(Number);
};

const near = (figure: number | undefined, measured: number) =>
  expect(Math.abs((figure ?? 0) - measured) / measured).toBeLessThan(TOLERANCE);

/** The bill of the example with gzip and without it. */
const measure = async (protocol: CallerProtocolName) => {
  const compressed = await unitsOf({ ...EXAMPLE, protocol, acceptsGzip: true });
  const plain = await unitsOf({ ...EXAMPLE, protocol, acceptsGzip: false });
  return {
    compressed,
    plain,
    bill: billOf(compressed, SECONDS),
    plainBill: billOf(plain, SECONDS),
  };
};
const measured = new Map<CallerProtocolName, ReturnType<typeof measure>>();
const billsOf = (protocol: CallerProtocolName): ReturnType<typeof measure> => {
  const known = measured.get(protocol) ?? measure(protocol);
  measured.set(protocol, known);
  return known;
};

test.each<[CallerProtocolName, string]>([
  ['chat', '| chat '],
  ['messages', '| messages '],
  ['responses', '| responses '],
])(
  'a million %s requests of 20 s and 1,500 tokens cost at most 75 dollars, and what docs/deploy.md states',
  async (protocol, row) => {
    const { compressed, plain, bill, plainBill } = await billsOf(protocol);
    expect(compressed).toMatchObject({ writes: 3, reads: 3.5 });
    expect(compressed.logBytes).toBeLessThan(1_450);
    expect(bill.sum).toBeLessThan(75);
    const [bytes, dollars, sum, plainBytes, plainDollars, plainSum] = figuresBehind(row);
    near(bytes, compressed.bytesOut / EXAMPLE.tokens);
    near(dollars, bill.dataOut);
    near(sum, bill.sum);
    near(plainBytes, plain.bytesOut / EXAMPLE.tokens);
    near(plainDollars, plainBill.dataOut);
    near(plainSum, plainBill.sum);
  },
);

test('docs/deploy.md states what the tables and the log of a request cost', async () => {
  const { bill } = await billsOf('chat');
  near(figuresBehind('3.5 units of reads at $0.125 | ').at(-1), bill.dynamo);
  near(figuresBehind('| Logs, 1.4 KB per request | ').at(-1), bill.logs);
});

/** Bytes that leave for a collector with one record of `count` in a call. */
const exportedBytes = async (count: number): Promise<number> => {
  let bytes = 0;
  const exportAll = createExporter({
    post: async (_, body) => {
      bytes += gzipSync(body).length;
      return { status: 200, body: '{}' };
    },
    addressOf: () => ({ host: 'api.example.com', port: 443 }),
    ...{ stage: 'prod', version: '1.0.0', log: createLog(() => undefined) },
  });
  const now = Date.UTC(2026, 10, 21, 12);
  const entries = Array.from({ length: count }, (_, index) => {
    const owner = { keyId: `key_${index}`, meterId: 'meter', projectId: 'team' };
    return { record: recordAt(index, owner, now + index * 1_000), isFirst: true };
  });
  await exportAll(entries);
  return bytes / count;
};

test('docs/deploy.md states what a million records cost at a collector, in calls of 500 records or of one', async () => {
  const [most, one] = await Promise.all([exportedBytes(500), exportedBytes(1)]);
  const billOfCalls = (count: number, bytes: number) =>
    billOf({ writes: 0, reads: 0, logBytes: 0, bytesOut: bytes * count }, 0.3).sum / count;
  const figures = figuresBehind('to one in a call of 0.3 s, with ');
  near(figures[0], most / 1_000);
  near(figures[1], one / 1_000);
  near(figures[2], billOfCalls(500, most));
  near(figures[3], billOfCalls(1, one));
});
