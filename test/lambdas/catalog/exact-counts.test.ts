import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tiktoken } from 'js-tiktoken/lite';
import o200k from 'js-tiktoken/ranks/o200k_base';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Model } from '../../../lambdas/catalog/catalog.ts';
import { FAMILIES, framingOf } from '../../../lambdas/catalog/families.ts';
import { bundle } from '../../../lib/bundle/bundle.ts';
import { readOwnCatalog } from '../../../local/own-catalog.ts';
import type { LocalRouter } from '../../../local/start.ts';
import {
  type GenerationUpstream,
  startGenerationUpstream,
} from '../../support/generation-upstream.ts';
import { post, startWatched } from '../../support/local.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { readDocuments } from './counting/checking-texts.ts';
import { TOKEN_SAMPLES } from './token-samples.ts';

const folder = mkdtempSync(join(tmpdir(), 'exact-'));
const theirs = new Tiktoken(o200k);
const truth = (text: string) => theirs.encode(text, [], []).length;

const documents = readDocuments();
/** Whose estimate is far too high. */
const EMOJI = TOKEN_SAMPLES.find(({ of }) => of === 'Emoji')?.text ?? '';
const ENGLISH = documents.find(([source]) => source === 'biome README.md')?.[1] ?? '';

let upstream: GenerationUpstream;
let router: LocalRouter;
beforeAll(async () => {
  upstream = await startGenerationUpstream();
  const lines = o200k.bpe_ranks.split('\n').flatMap((line) => line.split(' ').slice(2));
  writeFileSync(
    join(folder, 'o200k.tiktoken'),
    lines.map((token, rank) => `${token} ${rank}`).join('\n'),
  );
  const on = (id: string, context: number, tokenizer?: string): Model => {
    const counting = { family: 'o200k' as const, ...(tokenizer && { tokenizer }) };
    return modelOn([targetAt(upstream.url, { model: id.replace('/', '-'), counting })], {
      ...{ id, context_length: context },
    });
  };
  const models = ['exact', 'rules'].flatMap((name) => {
    const tokenizer = name === 'exact' ? './o200k.tiktoken' : undefined;
    return [
      on(`${name}/roomy`, 1_000_000, tokenizer),
      on(`${name}/emoji`, Math.round(truth(EMOJI) * 1.02), tokenizer),
      on(`${name}/english`, Math.round(truth(ENGLISH) / 1.1), tokenizer),
    ];
  });
  const framing = { ...framingOf(FAMILIES.o200k.framing), text: 1.3 };
  const counting = { family: 'o200k' as const, framing, tokenizer: './o200k.tiktoken' };
  const calibrated = targetAt(upstream.url, { model: 'calibrated', counting });
  models.push(modelOn([calibrated], { id: 'calibrated/roomy' }));
  writeFileSync(join(folder, 'catalog.json'), JSON.stringify(models));
  writeFileSync(join(folder, 'secrets.json'), JSON.stringify({ secret: 'credential' }));
  const paths = { catalog: join(folder, 'catalog.json'), secrets: join(folder, 'secrets.json') };
  router = await startWatched(await readOwnCatalog(paths));
});
afterAll(async () => {
  await router.close();
  await upstream.close();
  await rm(folder, { recursive: true });
});

const say = (content: string) => [{ role: 'user', content }];

const countTokens = async (model: string, text: string): Promise<number> => {
  const response = await post(router, '/v1/messages/count_tokens', { model, messages: say(text) });
  return z.object({ input_tokens: z.number() }).parse(await response.json()).input_tokens;
};

const statusOf = async (model: string, text: string): Promise<number> => {
  const response = await post(router, '/v1/chat/completions', { model, messages: say(text) });
  await response.text();
  return response.status;
};

describe('a model whose target names its tokenizer', () => {
  test('95 % of documents in 30 languages are counted within 2 % of the truth', async () => {
    const errors: number[] = [];
    for (const [, text] of documents) {
      errors.push(Math.abs((await countTokens('exact/roomy', text)) / (truth(text) + 8) - 1));
    }
    expect(errors.filter((error) => error <= 0.02).length / errors.length).toBeGreaterThan(0.95);
  });

  test('the factor for text of a calibrated framing, which corrects estimates, changes no exact count', async () => {
    const exact = await countTokens('exact/roomy', ENGLISH);
    expect(await countTokens('calibrated/roomy', ENGLISH)).toBe(exact);
  });

  test('a prompt of 150,000 characters is counted by samples within 2 %', async () => {
    const text = Array.from({ length: 25 }, () => ENGLISH).join('\n');
    expect(text.length).toBeGreaterThan(150_000);
    expect(Math.abs((await countTokens('exact/roomy', text)) / truth(text) - 1)).toBeLessThan(0.02);
  });

  test('a prompt that fits is accepted although its estimate is too high, with and without the tokenizer', async () => {
    expect(await statusOf('exact/emoji', EMOJI)).toBe(200);
    expect(await statusOf('rules/emoji', EMOJI)).toBe(200);
  });

  test('a prompt that is 10 % too long gets 400 before a call, and without the tokenizer reaches the provider', async () => {
    upstream.take();
    expect(await statusOf('exact/english', ENGLISH)).toBe(400);
    expect(upstream.take()).toEqual([]);
    expect(await statusOf('rules/english', ENGLISH)).toBe(200);
  });

  test('the bundle has the flat file of the tokenizer once, next to the script', () => {
    const { folder: code } = bundle({
      ...{ entry: 'lambdas/router.ts', outdir: join(folder, 'bundle') },
      catalog: join(folder, 'catalog.json'),
    });
    expect(readdirSync(code).toSorted()).toEqual([
      'index.cjs',
      expect.stringMatching(/^tokenizer-[\da-f]{12}\.bin$/),
    ]);
  });

  test('the folder of the admin function, which counts no text, has no flat file', () => {
    const { folder: code } = bundle({
      ...{ entry: 'lambdas/admin.ts', outdir: join(folder, 'admin') },
      catalog: join(folder, 'catalog.json'),
    });
    expect(readdirSync(code)).toEqual(['index.cjs']);
  });
});
