import { deflateSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fleet, startFleet } from '../../support/fleet.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { fc } from '../../support/seeds.ts';
import { send } from '../../support/send.ts';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({
    models: [modelOn([targetAt('http://127.0.0.1:1')])],
    clock: createManualClock(Date.UTC(2026, 10, 22, 12)),
  });
});
afterAll(() => fleet.close());

const documentOf = (file: Buffer) => ({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: file.toString('base64') },
});

const countTokens = async (...files: Buffer[]): Promise<number> => {
  const { status, text } = await send(fleet.urls[0] ?? '', '/v1/messages/count_tokens', {
    method: 'POST',
    headers: { 'x-api-key': fleet.key },
    body: JSON.stringify({
      model: 'vendor/model',
      messages: [{ role: 'user', content: files.map(documentOf) }],
    }),
  });
  expect(status).toBe(200);
  return JSON.parse(text).input_tokens;
};

const PAGE = '<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>';
const pages = (times: number) => `<</Type/Pages/Count ${times}>>${PAGE.repeat(times)}`;

type Parts = (string | Buffer)[];
const pdf = (...parts: Parts) =>
  Buffer.concat(['%PDF-1.7\n', ...parts].map((part) => Buffer.from(part)));
const objectStream = (bytes: Buffer): Parts => [
  `7 0 obj\r\n<</Filter/FlateDecode/First 9/Length ${bytes.length}/N 2/Type/ObjStm>>stream\r\n`,
  bytes,
  '\r\nendstream\r\nendobj\r\n',
];
/** Of this size, without a page that is found. */
const pagelessPdf = (bytes: number) => pdf('x'.repeat(bytes - pdf().length));

test('pages in compressed object streams of a PDF count as pages outside of them', async () => {
  const one = await countTokens(pdf(PAGE));
  const compressed = pdf(
    PAGE,
    ...objectStream(deflateSync(pages(3))),
    ...objectStream(deflateSync('<</Type/Font>>')),
    ...objectStream(deflateSync(pages(2))),
  );
  expect(await countTokens(compressed)).toBe(one + 5 * 2_300);
});

test.each<[string, Buffer]>([
  ['with more than 4 MB of objects', pdf(...objectStream(deflateSync(pages(100_000))))],
  [
    'with more than 256 object streams',
    pdf(...Array.from({ length: 300 }, () => objectStream(deflateSync(PAGE))).flat()),
  ],
  ['whose objects are encrypted', pdf(PAGE, ...objectStream(Buffer.alloc(500, 'Zk9!')))],
])('a PDF %s counts by its size', async (_, file) => {
  expect(await countTokens(file)).toBe(await countTokens(pagelessPdf(file.length)));
});

test('of the PDFs of a request 4 MB are inflated, and the rest counts by its size', async () => {
  const large = pdf(...objectStream(deflateSync(pages(60_000))));
  const first = await countTokens(large);
  expect(await countTokens(large, large)).toBeLessThan(first * 1.01);
});

test('a PDF that is cut at any byte is counted', async () => {
  const whole = pdf(...objectStream(deflateSync(pages(2))));
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: whole.length }), async (length) => {
      expect(await countTokens(whole.subarray(0, length))).toBeGreaterThan(0);
    }),
    { numRuns: 30 },
  );
});
