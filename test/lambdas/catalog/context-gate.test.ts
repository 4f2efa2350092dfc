import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { assertFits } from '../../../lambdas/catalog/capabilities.ts';
import {
  countingOf,
  estimateInputTokens,
  leastInputTokens,
} from '../../../lambdas/catalog/estimate-tokens.ts';
import { partsOf } from '../../../lambdas/catalog/request-parts.ts';
import { startLab } from '../../support/fleet-lab.ts';
import { type Act, answer } from '../../support/fleet-upstream.ts';
import { targetAt } from '../../support/models.ts';
import { fc } from '../../support/seeds.ts';
import { requestOf } from '../../support/translate.ts';
import { readRequests } from './counting/checking-texts.ts';
import { bodyOf, trueCountsOf } from './counting/score.ts';

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
  test('1.5 million Chinese characters reach a provider whose tokenizer makes 690,000 tokens of them', async () => {
    const { askFor, primary } = await startLab([answer], { model: { context_length: 1_048_576 } });
    const content = repeatTo(CHINESE, 1_500_000);
    expect((await askFor({ messages: say(content) })).status).toBe(200);
    expect(primary.attempts).toBe(1);
  });

  test('a PDF of 500 pages reaches its provider, which alone knows the tokens of a page', async () => {
    const { askFor, primary } = await startLab([answer], { model: { context_length: 262_144 } });
    const pages = `%PDF-1.7\n${'<< /Type /Page /Parent 1 0 R >>\n'.repeat(500)}${'x'.repeat(300_000)}`;
    const file_data = `data:application/pdf;base64,${Buffer.from(pages).toString('base64')}`;
    const file = { filename: 'a.pdf', file_data };
    const messages = [{ role: 'user', content: [{ type: 'file', file }] }];
    expect((await askFor({ messages })).status).toBe(200);
    expect(primary.attempts).toBe(1);
  });

  test('a prompt in doubt that the provider rejects as too long is the same 400 and costs no unit', async () => {
    const messages = say('All is well today, and the build has passed. '.repeat(80));
    const parts = partsOf(requestOf('chat', { messages }));
    const context_length = Math.floor(0.95 * estimateInputTokens(parts, countingOf(targetAt(''))));
    const { askFor, primary, fleet } = await startLab([refuse], { model: { context_length } });
    const sent = await askFor({ messages });
    expect(sent.status).toBe(400);
    expect(JSON.parse(sent.text).error).toMatchObject({
      code: 'context_length_exceeded',
      message: expect.stringMatching(/^prompt is too long: \d+ tokens > \d+ maximum/),
    });
    expect([primary.attempts, await fleet.charged()]).toEqual([1, 0]);
  });

  test('a prompt that certainly exceeds the context is a 400 before any provider is called', async () => {
    const { askFor, primary, fleet } = await startLab([answer], { model: { context_length: 900 } });
    const sent = await askFor({ messages: say('word '.repeat(1_500)) });
    expect(sent.status).toBe(400);
    expect(JSON.parse(sent.text).error).toMatchObject({
      code: 'context_length_exceeded',
      message: expect.stringMatching(/^prompt is too long: 1\d\d\d tokens > 900 maximum/),
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
        const parts = () => partsOf(request);
        const tokens = Number.MAX_SAFE_INTEGER;
        const least = () => tokens;
        // As a client that escapes everything sends it: its bytes alone are far above the context.
        const bodyBytes = 6 * body.length;
        const context_length = Buffer.byteLength(body);
        assertFits({ context_length }, request, { bodyBytes, parts, least, estimate: least });
      }),
      { numRuns: 50 },
    );
  },
);

/** True tokens of 1.5 million characters of the sentence above. */
const TRUE_TOKENS = {
  'minimax-m3': 687_500,
  'qwen3.5': 750_000,
  'deepseek-v4': 875_000,
  'glm-5.2': 937_500,
};

test.each(Object.entries(TRUE_TOKENS))(
  'a Chinese prompt that fills 95 percent of the context of %s is not rejected, one of 2.2 times is',
  (model, tokens) => {
    const request = requestOf('messages', { messages: say(repeatTo(CHINESE, 1_500_000)) });
    const parts = partsOf(request);
    const check = (context_length: number) =>
      assertFits({ context_length }, request, {
        bodyBytes: 4_500_000,
        parts: () => parts,
        least: () => leastInputTokens(parts, model),
        estimate: () => estimateInputTokens(parts, countingOf({ model })),
      });
    expect(() => check(tokens / 0.95)).not.toThrow();
    expect(() => check(tokens / 2.2)).toThrow('prompt is too long');
  },
);

test('agent requests that fill 98 % of the context reach a deployment whose name tells no family', async () => {
  const requests = readRequests().slice(0, 8);
  for (const body of requests) {
    const tokens = trueCountsOf(body)?.o200k;
    if (tokens === undefined) continue;
    const { askFor, primary } = await startLab([answer], {
      model: { context_length: Math.ceil(tokens / 0.98) },
    });
    expect((await askFor(bodyOf(body))).status).toBe(200);
    expect(primary.attempts).toBe(1);
  }
});
