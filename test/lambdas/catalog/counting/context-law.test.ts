import { describe, expect, test } from 'vitest';
import { assertFits } from '../../../../lambdas/catalog/capabilities.ts';
import { leastInputTokens } from '../../../../lambdas/catalog/estimate-tokens.ts';
import { partsOf } from '../../../../lambdas/catalog/request-parts.ts';
import { callerProtocols } from '../../../../lambdas/protocols/protocols.ts';
import { readRequests } from './checking-texts.ts';
import { readKinds } from './kinds.ts';
import { bodyOf, digestOf, readTrueCounts, trueCountsOf } from './score.ts';

/** How full the context is, in turns. */
const FILLED = [1, 0.8, 0.99, 0.9, 0.95];

type Prompt = { kind: string; body: Record<string, unknown>; tokens: number };

/** A prompt of each text and tokenizer, as large as that tokenizer counts it. */
const textPrompts = (): Prompt[] => {
  const { kinds, tokenizers } = readTrueCounts();
  return readKinds().flatMap(({ kind, text }) =>
    (kinds[digestOf(text)] ?? []).map((tokens, index) => ({
      kind: `${kind}, ${text.length} characters, ${tokenizers[index]}`,
      body: { model: 'vendor/model', messages: [{ role: 'user', content: text }] },
      tokens,
    })),
  );
};

/** Agents' requests, as large as each vendor's template and tokenizer count them. */
const agentPrompts = (): Prompt[] =>
  readRequests().flatMap((body, request) =>
    Object.entries(trueCountsOf(body) ?? {}).map(([family, tokens]) => ({
      kind: `request ${request}, ${family}`,
      body: bodyOf(body),
      tokens,
    })),
  );

const isRejected = ({ body, tokens }: Prompt, filled: number): boolean => {
  const request = callerProtocols.chat.decodeRequest(body);
  const parts = partsOf(request);
  const count = {
    bodyBytes: Buffer.byteLength(JSON.stringify(body)),
    parts: () => parts,
    least: () => leastInputTokens(parts, 'model'),
    estimate: () => tokens,
  };
  try {
    assertFits({ context_length: Math.ceil(tokens / filled) }, request, count);
    return false;
  } catch {
    return true;
  }
};

const texts = textPrompts();
const requests = agentPrompts();
const prompts = [...texts, ...requests];
const rejected = (among: Prompt[], filled: (index: number) => number): string[] =>
  among.flatMap((prompt, index) => (isRejected(prompt, filled(index)) ? [prompt.kind] : []));

describe('the gate of the context, on prompts whose tokens are known', () => {
  test('there are 2,500 prompts, of 11 tokenizers and 120 kinds of text', () => {
    // Fewer: a package has other texts now. docs/decisions/0005-token-estimate.md says how to count them again.
    expect(prompts.length).toBeGreaterThanOrEqual(2_500);
  });

  test('no prompt that fills 80 to 100 % of its context is rejected, of any kind and for any tokenizer', () => {
    expect(rejected(prompts, (index) => FILLED[index % FILLED.length] ?? 1)).toEqual([]);
    expect(rejected(prompts, () => 1)).toEqual([]);
  });

  test('four in five prompts of twice the context are rejected before a provider is called', () => {
    expect(rejected(requests, () => 2).length / requests.length).toBeGreaterThanOrEqual(0.8);
    expect(rejected(texts, () => 2).length / texts.length).toBeGreaterThanOrEqual(0.8);
  });
});
