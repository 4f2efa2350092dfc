import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CALLER_PROTOCOLS, UPSTREAM_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import { type Cell, type CellResult, startFaultBench } from '../support/fault-bench.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { parseLine } from '../support/log-line.ts';
import { PLANTED_SECRETS } from '../support/planted-secrets.ts';
import { heldIn } from '../support/scan-tables.ts';
import { checksAll } from '../support/seeds.ts';
import { type Json, parseJson } from '../support/sse-text.ts';
import { assertWellFormed } from '../support/translate.ts';
import { WIRES, type Wire } from '../support/wires.ts';
import { type Expected, ROWS } from './expectations.ts';

const BOOLEANS = [false, true];
type Mode = Pick<Cell, 'family' | 'wire' | 'stream' | 'hasSecond'>;

const MODES: Mode[] = WIRES.flatMap((wire) =>
  CALLER_PROTOCOLS.flatMap((family) =>
    BOOLEANS.flatMap((stream) =>
      BOOLEANS.map((hasSecond) => ({ family, wire, stream, hasSecond })),
    ),
  ),
);

/** Protocols whose rows hold all modes of a caller of the same protocol. */
const WHOLE: Wire[] = ['chat', 'messages'];

/** Of this many rows `npm test` asks one of each pair of protocols that is not whole. */
const STEP = 6;

/**
 * `npm test` asks each fault in two opposite modes, one on each of two protocols, and every sixth row of each other
 * pair in one mode; which ones differs from row to row. `npm run test:all` asks in all modes of all pairs.
 */
const isChosen = ({ family, wire, stream, hasSecond }: Mode, row: number): boolean => {
  if (checksAll) return true;
  if (family === wire && WHOLE.includes(wire)) {
    const isFirst = wire === WHOLE[0];
    return (stream === (row % 2 === 0)) === isFirst && (hasSecond === row % 4 >= 2) === isFirst;
  }
  const turn = row + WIRES.indexOf(wire) + CALLER_PROTOCOLS.indexOf(family);
  const round = Math.floor(turn / STEP);
  return turn % STEP === 0 && stream === (round % 2 === 0) && hasSecond === (round % 4 === 3);
};

const isRelay = ({ family, wire, stream }: Mode): boolean =>
  stream && family === wire && wire === 'responses';

/** Half of the cells have an idempotency key, with each value of every other property: it changes no outcome. */
const isKeyed = ({ family, stream }: Mode, row: number): boolean =>
  ((family === 'chat') === stream) === row % 4 < 2;

const cells = ROWS.flatMap(({ expected, on, relayed, ...row }, index) =>
  MODES.filter((mode) => isChosen(mode, index)).map((mode) => ({
    cell: { ...row, ...mode, isKeyed: isKeyed(mode, index) },
    expected: (isRelay(mode) && relayed) || (on?.[mode.wire] ?? expected),
  })),
);

let bench: Awaited<ReturnType<typeof startFaultBench>>;
beforeAll(async () => {
  bench = await startFaultBench(cells.map(({ cell }) => cell));
});
afterAll(() => bench.close());

const TEXT = 'one two three four five';

const wholeText = ({ family }: Cell, text: string): unknown => {
  const body = parseJson(text);
  if (family === 'responses') {
    const [item] = body.output as { content: Json[] }[];
    return item?.content[0]?.text;
  }
  if (family === 'messages') return (body.content as Json[])[0]?.text;
  return ((body.choices as Json[])[0]?.message as Json | undefined)?.content;
};

/** What a stream adds up to, after it was held against the rules of its family. */
const readStream = ({ family, wire }: Cell, text: string) => {
  const { isError, ...read } = assertWellFormed(family, text, wire);
  if ('text' in read) return { isError, text: read.text };
  return { isError, text: read.blocks.map((block) => block.text).join('') };
};

const expectIds = ({ headers }: CellResult) => {
  expect(headers['x-request-id']).toMatch(/^req_[0-9A-Za-z]{24}$/);
  expect(headers['request-id']).toBe(headers['x-request-id']);
};

const expectOneLine = ({ headers, log }: CellResult) => {
  const lines = log.trimEnd().split('\n').map(parseLine);
  const requests = lines.filter(({ event }) => event === 'request');
  expect(requests.map(({ requestId }) => requestId)).toEqual([headers['x-request-id']]);
};

const secrets = [...Object.values(CANARIES), ...PLANTED_SECRETS];
/** What the embedded upstream's failures say. */
const REASON = 'Injected failure';

/** Nothing of what must stay inside was answered or logged. */
const expectDiscretion = ({ status, headers, text, log }: CellResult) => {
  const inside = [...secrets, bench.key, new URL(bench.url).host, process.cwd()];
  // A provider's reason for a 400 is the caller's to know.
  const answered = status === 400 ? text.replace(REASON, '') : text;
  const told = JSON.stringify(headers) + answered + log;
  expect(inside.filter((secret) => told.includes(secret))).toEqual([]);
};

const expectAnswer = (cell: Cell, result: CellResult, times = 1) => {
  const text = TEXT.repeat(times);
  expect(result.status).toBe(200);
  expect(result.charged).toBe(1);
  if (!cell.stream) return expect(wholeText(cell, result.text)).toBe(text);
  return expect(readStream(cell, result.text)).toMatchObject({ isError: false, text });
};

const expectEmpty = (cell: Cell, result: CellResult) => {
  expect(result.status).toBe(200);
  expect(result.charged).toBe(0);
  if (!cell.stream) return expect(wholeText(cell, result.text) ?? '').toBe('');
  return expect(readStream(cell, result.text)).toMatchObject({ isError: false, text: '' });
};

const expectErrorEvent = (cell: Cell, result: CellResult) => {
  expect(result.status).toBe(200);
  const { isError, text } = readStream(cell, result.text);
  expect(isError).toBe(true);
  expect(TEXT.startsWith(text.trim())).toBe(true);
  expect(result.charged).toBe(0);
};

const expectError = ({ family }: Cell, result: CellResult, status: number, type = 'api_error') => {
  expect(result.status).toBe(status);
  const body = parseJson(result.text);
  expect(body.error).toMatchObject({ type, message: expect.any(String) });
  const requestId = result.headers['x-request-id'];
  if (family === 'messages') expect(body).toMatchObject({ type: 'error', request_id: requestId });
  else expect(body).not.toHaveProperty('type');
  expect(result.charged).toBe(0);
};

const expectOutcome = (cell: Cell, expected: Expected, result: CellResult) => {
  expectIds(result);
  switch (expected.kind) {
    case 'answered':
      return expectAnswer(cell, result, expected.times);
    case 'empty':
      return cell.hasSecond ? expectAnswer(cell, result) : expectEmpty(cell, result);
    case 'refused':
      expectError(cell, result, expected.status, expected.type);
      expect(result.attempts).toBe(1);
      return expect(result.headers['x-should-retry']).toBe('false');
    case 'broken':
      if (cell.stream) return expectErrorEvent(cell, result);
      return expectError(cell, result, expected.status ?? 502);
    case 'failed': {
      if (cell.hasSecond) return expectAnswer(cell, result);
      // After ten seconds of silence the status has gone out: the failure is told in the stream.
      if (cell.stream && cell.waits) return expectErrorEvent(cell, result);
      expectError(cell, result, expected.status, expected.type);
      return expect(result.headers).toMatchObject(expected.headers ?? {});
    }
    default:
      return expected satisfies never;
  }
};

const nameOf = ({ family, wire, stream, hasSecond }: Cell): string =>
  `${family} on ${wire}, ${stream ? 'streamed' : 'whole'}${hasSecond ? ', with a second target' : ''}`;

describe.each(ROWS.map(({ fault }) => fault))('an upstream with the fault %s', (fault) => {
  const own = cells.filter(({ cell }) => cell.fault === fault);
  test.each(own.map(({ cell, expected }) => [nameOf(cell), cell, expected] as const))(
    '%s',
    async (_, cell, expected) => {
      const result = await bench.run(cell);
      expectOutcome(cell, expected, result);
      expectOneLine(result);
      expectDiscretion(result);
      expect(result.kept, 'idle connections to upstreams').toBeLessThanOrEqual(2);
    },
  );
});

test('after the matrix no table holds a prompt, a response, a key or a secret of a provider', async () => {
  const tables = await bench.readTables();
  const records = tables.records?.match(/"sk":/g) ?? [];
  expect(records).toHaveLength(cells.length);
  // The provider's words are kept, without the secrets in them.
  expect(tables.records).toContain(CANARIES.toldToFail);
  const { upstreamKey, prompt } = CANARIES;
  const inside = [upstreamKey, prompt, ...PLANTED_SECRETS, TEXT, bench.key];
  expect(heldIn(tables, inside)).toEqual([]);
});

test('the matrix has each of at least 45 faults once, and each pair of protocols in every sixth of them or more', () => {
  expect(new Set(ROWS.map(({ fault }) => fault)).size).toBe(ROWS.length);
  expect(ROWS.length).toBeGreaterThanOrEqual(45);
  const cellsOf = Map.groupBy(cells, ({ cell: { family, wire } }) => `${family} on ${wire}`);
  expect(cellsOf.size).toBe(CALLER_PROTOCOLS.length * UPSTREAM_PROTOCOLS.length);
  for (const own of cellsOf.values()) expect(own.length).toBeGreaterThan(ROWS.length / STEP - 1);
});
