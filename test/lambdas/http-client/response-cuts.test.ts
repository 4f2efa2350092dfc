import { afterEach, describe, expect, test, vi } from 'vitest';
import { createResponseReader } from '../../../lambdas/http-client/response-reader.ts';
import { splitBytes } from '../../fuzz/mutate-bytes.ts';
import { fc } from '../../support/seeds.ts';
import { readBytes, readPieces } from './read-response.ts';
import { mutatedBytes, responseBytes } from './response-texts.ts';

const KB = 1_024;
const HEAD = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${HEAD}transfer-encoding: chunked\r\n\r\n`;

/** A reader that counts what it gives to its handler. */
const countingReader = () => {
  const counts = { calls: 0, bytes: 0 };
  const reader = createResponseReader({
    onHead: () => undefined,
    onData: ({ length }) => {
      counts.calls += 1;
      counts.bytes += length;
    },
  });
  return { reader, counts };
};

/** How many bytes of the piece, sent again and again, a reader accepts before it rejects them. */
const acceptedOf = (start: string, piece: string, most = 64 * KB): number => {
  const { reader } = countingReader();
  const bytes = Buffer.from(piece);
  let accepted = 0;
  try {
    reader.push(Buffer.from(start));
    for (; accepted < most; accepted += bytes.length) reader.push(bytes);
  } catch {}
  return accepted;
};

/** Bytes that the reader copies to put pieces together. */
const copiedBy = (action: () => void): number => {
  const concat = vi.spyOn(Buffer, 'concat');
  action();
  return concat.mock.results.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0);
};
afterEach(() => vi.restoreAllMocks());

describe('bytes in pieces', () => {
  const places = fc.array(fc.nat(65_535), { maxLength: 9 });

  test.each([
    ['valid', responseBytes],
    ['changed', mutatedBytes],
  ])('a %s response is read alike byte by byte, in random pieces and in one', (_, inputs) => {
    fc.assert(
      fc.property(inputs, places, (bytes, cuts) => {
        const whole = readPieces([bytes]).outcome;
        expect(readPieces(splitBytes(bytes, cuts)).outcome).toEqual(whole);
        expect(readBytes(bytes).outcome).toEqual(whole);
      }),
      { numRuns: 400 },
    );
  });

  test('a connection carries no further request when bytes follow the response', () => {
    const response = `${HEAD}content-length: 2\r\n\r\nhi`;
    expect(readPieces([Buffer.from(response)]).mayContinue).toBe(true);
    expect(readPieces([Buffer.from(`${response}\r\n`)]).mayContinue).toBe(false);
    expect(readPieces([Buffer.from(`${CHUNKED}0\r\n\r\n`)]).mayContinue).toBe(true);
    expect(readPieces([Buffer.from(`${CHUNKED}0\r\n\r\n0`)]).mayContinue).toBe(false);
  });
});

describe('what a server can make long', () => {
  test.each([
    ['a status line', '', 'x'],
    ['a header', `${HEAD}x: `, 'x'],
    ['headers', HEAD, 'x: y\r\n'],
    ["a chunk's extensions", `${CHUNKED}1`, ';a'],
    ['a quoted extension', `${CHUNKED}1;a="`, '"\\"'],
    ['a trailer', `${CHUNKED}0\r\nx: `, 'x'],
    ['trailers', `${CHUNKED}0\r\n`, 'x: y\r\n'],
  ])('%s without an end: the reader stops within 32 KB', (_, start, piece) => {
    expect(acceptedOf(start, piece)).toBeLessThanOrEqual(32 * KB);
  });

  test('a megabyte of head in one piece is rejected', () => {
    const { reader } = countingReader();
    const head = Buffer.from(`${HEAD}x: ${'x'.repeat(1_000 * KB)}\r\n\r\n`);
    expect(() => reader.push(head)).toThrow('head over 16 KB');
  });

  test('a head byte by byte copies at most the head for each byte', () => {
    const head = Buffer.from(`${HEAD}x: ${'x'.repeat(1_000)}\r\ncontent-length: 0\r\n\r\n`);
    expect(copiedBy(() => readBytes(head))).toBeLessThan(head.length ** 2);
  });

  test('100,000 interim responses are read one after the other, and none is kept', () => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
    const { reader } = countingReader();
    const piece = Buffer.from(interim.repeat(100) + interim.slice(0, 9));
    const rest = Buffer.from(interim.slice(9));
    const copied = copiedBy(() => {
      for (let count = 0; count < 1_000; count += 1) {
        reader.push(piece);
        reader.push(rest);
      }
    });
    expect(copied).toBeLessThan(1_000 * 2 * interim.length);
    expect(reader.push(Buffer.from(`${HEAD}content-length: 0\r\n\r\n`))).toBe(true);
  });

  test('64 KB of interim responses in one packet do not exhaust the stack', () => {
    const bytes = Buffer.from(
      `${'HTTP/1.1 100\r\n\r\n'.repeat(40_000)}${HEAD}content-length: 0\r\n\r\n`,
    );
    expect(readPieces([bytes]).outcome).toEqual({ status: 200, body: '' });
  });

  test('a million chunks of a byte in 100 packets are given as 100 pieces, and no buffer is made', () => {
    const { reader, counts } = countingReader();
    reader.push(Buffer.from(CHUNKED));
    const piece = Buffer.from('1\r\nx\r\n'.repeat(10_000));
    const copied = copiedBy(() => {
      // The reader moves the data within the piece.
      for (let count = 0; count < 100; count += 1) reader.push(Buffer.from(piece));
    });
    expect(reader.push(Buffer.from('0\r\n\r\n'))).toBe(true);
    expect(counts).toEqual({ calls: 100, bytes: 1_000_000 });
    expect(copied).toBe(0);
  });

  test('a stream with extensions at each chunk is read whatever their sum is', () => {
    const { reader, counts } = countingReader();
    reader.push(Buffer.from(CHUNKED));
    const piece = Buffer.from(`1;a="${'x'.repeat(1_000)}"\r\nx\r\n`);
    for (let count = 0; count < 100; count += 1) reader.push(Buffer.from(piece));
    expect(counts.bytes).toBe(100);
  });
});
