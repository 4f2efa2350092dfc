import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { assertFits } from '../../../lambdas/catalog/capabilities.ts';
import { estimateInputTokens } from '../../../lambdas/catalog/estimate-tokens.ts';
import { startLab } from '../../support/fleet-lab.ts';
import { type Act, answer } from '../../support/fleet-upstream.ts';
import { fc } from '../../support/seeds.ts';
import { requestOf } from '../../support/translate.ts';

const refuse: Act = (response) =>
  void response
    .writeHead(400)
    .end(readFileSync(new URL('../../fixtures/refusals/overflow-openai.json', import.meta.url)));

const repeatTo = (text: string, length: number): string =>
  text.repeat(Math.ceil(length / text.length)).slice(0, length);

/** 1.5 million characters of it are 687,500 tokens at one vendor and 1,312,500 at another. */
const CHINESE = '模型路由器把请求发送给提供者,并且从不丢失计数。';
/** Runs that tokenizers split most, and those whose bytes are the most for their letters. */
const ADVERSARIAL = [
  'a',
  'A1',
  '  ',
  '\n',
  '}) ',
  'é',
  'က',
  '\u1200',
  '中',
  '😀',
  '\u200d',
  '\ud83d',
];

const say = (content: string) => [{ role: 'user', content }];

describe('a prompt near the context of its model', () => {
  test('1.5 million Chinese characters that the estimate puts above the context reach the provider', async () => {
    const { askFor, primary } = await startLab([answer], { model: { context_length: 1_048_576 } });
    const content = repeatTo(CHINESE, 1_500_000);
    expect(estimateInputTokens(requestOf('chat', { messages: say(content) }))).toBeGreaterThan(
      1_048_576,
    );
    expect((await askFor({ messages: say(content) })).status).toBe(200);
    expect(primary.attempts).toBe(1);
  });

  test('a prompt in doubt that the provider rejects as too long is the same 400 and costs no unit', async () => {
    const { askFor, primary, fleet } = await startLab([refuse], { model: { context_length: 900 } });
    const sent = await askFor({ messages: say('word '.repeat(950)) });
    expect(sent.status).toBe(400);
    expect(JSON.parse(sent.text).error).toMatchObject({
      code: 'context_length_exceeded',
      message: expect.stringMatching(/^prompt is too long: \d+ tokens > \d+ maximum/),
    });
    expect([primary.attempts, await fleet.charged()]).toEqual([1, 0]);
  });

  test('a prompt that certainly exceeds the context is a 400 before any provider is called', async () => {
    const { askFor, primary, fleet } = await startLab([answer], { model: { context_length: 900 } });
    const sent = await askFor({ messages: say('word '.repeat(1_200)) });
    expect(sent.status).toBe(400);
    expect(JSON.parse(sent.text).error).toMatchObject({
      code: 'context_length_exceeded',
      message: expect.stringMatching(/^prompt is too long: 12\d\d tokens > 900 maximum/),
    });
    expect([primary.attempts, await fleet.charged()]).toEqual([0, 0]);
  });
});

test.each(ADVERSARIAL)(
  'a prompt of %j whose bytes fit the context is never rejected, whatever its estimate',
  (unit) => {
    fc.assert(
      fc.property(fc.nat({ max: 3_000 }), fc.boolean(), (length, asTool) => {
        const text = repeatTo(unit, length);
        const tools = [{ name: 'f', description: text, input_schema: { type: 'object' } }];
        const fields = asTool ? { messages: say('Hi.'), tools } : { messages: say(`Hi. ${text}`) };
        const body = JSON.stringify(fields);
        const request = requestOf('messages', fields);
        const estimateInput = () => Number.MAX_SAFE_INTEGER;
        // As a client that escapes everything sends it: its bytes alone are far above the context.
        const bodyBytes = 6 * body.length;
        const context_length = Buffer.byteLength(body);
        assertFits({ context_length }, request, { bodyBytes, estimateInput });
      }),
      { numRuns: 50 },
    );
  },
);
